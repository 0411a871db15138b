"""Computes the largest magnitude of each tensor, with ops that XLA can compile.

Adds nodes to a graph's definition. They compute an int64 vector with one element per tensor: the bits of its
largest absolute value as a float64. The bits of NaN are above those of infinity, which are above all others;
an empty tensor has 0. Of all ways tried, a maximum of bits costs the program least: XLA fuses it with the op
that makes the tensor. (XLA's maximum of floats ignores NaN.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2

from tb_debugger_plugin.capture.tf_types import Array, AttrValue, GraphDef, NodeDef, TfTensor

_SCOPE = "TbDebuggerHealth/"
#: For each floating dtype, the integer dtype of its bits, and the mask of all bits but the sign.
BITS = {
    tf.float16: (tf.int16, 0x7FFF),
    tf.bfloat16: (tf.int16, 0x7FFF),
    tf.float32: (tf.int32, 0x7FFFFFFF),
    tf.float64: (tf.int64, 0x7FFFFFFFFFFFFFFF),
}
#: Dtypes whose bits cannot be compared. Complex numbers are measured by their real and imaginary parts, and
#: float8 as numbers of a wider dtype.
PARTS = {tf.complex64: tf.float32, tf.complex128: tf.float64}
WIDER = {
    tf.dtypes.experimental.float8_e4m3fn: tf.float16,
    tf.dtypes.experimental.float8_e5m2: tf.float16,
}
#: Tensors of equal size are measured together if they have at most this many elements.
_SMALL = 1024
#: The bits of infinity.
INFINITY = 0x7FF0000000000000

#: The value of an attribute of a node.
Attribute: TypeAlias = "tf.DType | int | AttrValue"


class Nodes:
    """Adds nodes to a graph's definition.

    Args:
      definition: The graph.
      scope: Prefix of the names of the nodes.
    """

    def __init__(self, definition: GraphDef, scope: str = _SCOPE) -> None:
        self.definition = definition
        self._scope = scope
        self._constants: dict[tuple[tf.DType, bytes, tuple[int, ...]], str] = {}

    def add(self, op: str, inputs: Iterable[str], *, name: str = "", **attrs: Attribute) -> str:
        """Add a node and return its name."""
        name = name or f"{self._scope}{len(self.definition.node)}"
        values = {key: _attr(value) for key, value in attrs.items()}
        self.definition.node.append(NodeDef(name=name, op=op, input=inputs, attr=values))
        return name

    def constant(self, value: int | Sequence[int] | Array, dtype: tf.DType) -> str:
        """Add a constant unless the graph has it; return its name."""
        array = np.asarray(value, dtype.as_numpy_dtype)
        key = (dtype, array.tobytes(), array.shape)
        if key not in self._constants:
            tensor = AttrValue(tensor=tf.make_tensor_proto(array, dtype))
            self._constants[key] = self.add("Const", (), dtype=dtype, value=tensor)
        return self._constants[key]

    def concat(self, vectors: Sequence[str], dtype: tf.DType) -> str:
        """Concatenate vectors; at least one is needed."""
        if len(vectors) == 1:
            return vectors[0]
        axis = self.constant(0, tf.int32)
        return self.add("ConcatV2", [*vectors, axis], N=len(vectors), T=dtype, Tidx=tf.int32)


def _attr(value: Attribute) -> AttrValue:
    if isinstance(value, tf.DType):
        return AttrValue(type=value.as_datatype_enum)
    if isinstance(value, int):
        return AttrValue(i=value)
    if isinstance(value, attr_value_pb2.AttrValue):
        return value
    raise TypeError(f"{value!r} cannot be an attribute of a node: pass a tf.DType, an int or an AttrValue.")


@dataclass(frozen=True)
class Kind:
    """Tensors that are measured together.

    Attributes:
      dtype: Their dtype.
      size: Number of elements of each small tensor; None for larger tensors.
      is_wide: Only for tensors that are counted: whether one may have more elements than one sum can count.
    """

    dtype: tf.DType
    size: int | None
    is_wide: bool = False


#: A tensor, by the name that an input of a node has, and its static shape.
Source: TypeAlias = tuple[str, tf.TensorShape]
#: Tensors to measure, by kind.
ByKind: TypeAlias = Mapping[Kind, Sequence[Source]]


def kind_of(tensor: TfTensor) -> Kind | None:
    """Return the kind of a tensor; None when it cannot be measured."""
    if not any(tensor.dtype in known for known in (BITS, PARTS, WIDER)):
        return None
    shape = tensor.shape
    size = math.prod(shape.as_list()) if shape.is_fully_defined() else 0
    return Kind(tensor.dtype, size if 0 < size <= _SMALL else None)


def magnitudes(nodes: Nodes, kind: Kind, tensors: Sequence[Source]) -> str:
    """Add nodes that compute the largest magnitude of each tensor.

    Args:
      nodes: The graph.
      kind: The kind of the tensors.
      tensors: The tensors.

    Returns:
      The name of an int64 vector with one element per tensor.
    """
    dtype = compared_dtype(kind.dtype)
    bits, _ = BITS[dtype]
    vector = (
        _of_large(nodes, kind, tensors) if kind.size is None else _of_small(nodes, kind, kind.size, tensors)
    )
    if dtype == tf.float64:
        return vector
    floats = nodes.add("Bitcast", [vector], T=bits, type=dtype)
    doubles = nodes.add("Cast", [floats], SrcT=dtype, DstT=tf.float64)
    return nodes.add("Bitcast", [doubles], T=tf.float64, type=tf.int64)


def sizes(nodes: Nodes, tensors: Iterable[tuple[str, tf.DType]]) -> str:
    """Add nodes that compute the number of elements of each tensor, an int64 vector. It is constant for XLA.

    Args:
      nodes: The graph.
      tensors: The tensors, at least one, by the name that an input of a node has, each with its dtype.
    """
    numbers = [nodes.add("Size", [source], T=dtype, out_type=tf.int64) for source, dtype in tensors]
    return nodes.add("Pack", numbers, N=len(numbers), T=tf.int64, axis=0)


def compared_dtype(dtype: tf.DType) -> tf.DType:
    """Return the dtype whose bits are compared: the tensor's, or that of its parts or wider numbers."""
    return PARTS.get(dtype) or WIDER.get(dtype) or dtype


def _of_small(nodes: Nodes, kind: Kind, size: int, tensors: Sequence[Source]) -> str:
    """One reduction for all tensors: XLA compiles a program for each reduction."""
    table, rank = table_of(nodes, kind.dtype, size, tensors)
    return _largest_bits(nodes, table, kind.dtype, range(1, rank))


def table_of(nodes: Nodes, dtype: tf.DType, size: int, tensors: Sequence[Source]) -> tuple[str, int]:
    """Return a tensor whose rows are tensors of equal size, and its rank."""
    shape = () if size == 1 else (size,)
    rows = [
        source if static.rank == len(shape) else reshaped(nodes, source, dtype, shape)
        for source, static in tensors
    ]
    return nodes.add("Pack", rows, N=len(rows), T=dtype, axis=0), 1 + len(shape)


def _of_large(nodes: Nodes, kind: Kind, tensors: Sequence[Source]) -> str:
    bits, _ = BITS[compared_dtype(kind.dtype)]
    numbers = []
    for source, static in tensors:
        rank = static.rank
        if rank is None:
            source, rank = reshaped(nodes, source, kind.dtype, (-1,)), 1
        numbers.append(_largest_bits(nodes, source, kind.dtype, range(rank)))
    vector = nodes.add("Pack", numbers, N=len(numbers), T=bits, axis=0)
    # The maximum of no elements is the lowest number of the dtype.
    return nodes.add("Maximum", [vector, nodes.constant(0, bits)], T=bits)


def _largest_bits(nodes: Nodes, source: str, dtype: tf.DType, axes: range) -> str:
    if dtype in PARTS:
        part = PARTS[dtype]
        parts = [nodes.add(op, [source], T=dtype, Tout=part) for op in ("Real", "Imag")]
        return nodes.add(
            "Maximum", [_largest_bits(nodes, floats, part, axes) for floats in parts], T=BITS[part][0]
        )
    if dtype in WIDER:
        source = nodes.add("Cast", [source], SrcT=dtype, DstT=WIDER[dtype])
        return _largest_bits(nodes, source, WIDER[dtype], axes)
    bits, mask = BITS[dtype]
    word = nodes.add("Bitcast", [source], T=dtype, type=bits)
    word = nodes.add("BitwiseAnd", [word, nodes.constant(mask, bits)], T=bits)
    if not axes:
        return word
    return nodes.add("Max", [word, nodes.constant(axes, tf.int32)], T=bits, Tidx=tf.int32)


def reshaped(nodes: Nodes, source: str, dtype: tf.DType, shape: tuple[int, ...]) -> str:
    """Return a tensor in another shape."""
    return nodes.add("Reshape", [source, nodes.constant(shape, tf.int32)], T=dtype, Tshape=tf.int32)
