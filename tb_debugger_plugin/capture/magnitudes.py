"""The largest magnitude of each tensor, computed by ops that XLA can compile.

In come tensors of a graph's definition, out come nodes behind them: an int64 vector with one element a
tensor, the bits of its largest absolute value as a float64. Those of NaN are above those of infinity, and
these above all others; an empty tensor has 0. Of all ways tried this costs the program least: a maximum of
bits, which XLA joins with the op that makes the tensor. (Its maximum of floats passes over NaN.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, graph_pb2, node_def_pb2

_SCOPE = "TbDebuggerHealth/"
#: How a floating dtype's magnitude is read off its bits: the integer dtype, and all bits but the sign.
_BITS = {
    tf.float16: (tf.int16, 0x7FFF),
    tf.bfloat16: (tf.int16, 0x7FFF),
    tf.float32: (tf.int32, 0x7FFFFFFF),
    tf.float64: (tf.int64, 0x7FFFFFFFFFFFFFFF),
}
#: The dtypes that can be measured.
MEASURABLE = frozenset(_BITS)
#: The bits of infinity.
INFINITY = 0x7FF0000000000000


class Nodes:
    """Adds nodes to a graph's definition.

    Args:
      definition: The graph.
    """

    def __init__(self, definition: graph_pb2.GraphDef) -> None:
        self.definition = definition
        self._constants: dict[tuple[Any, bytes, tuple[int, ...]], str] = {}

    def add(self, op: str, inputs: Iterable[str], *, name: str = "", **attrs: Any) -> str:
        """Add a node and return its name. Attributes: a `tf.DType`, an int, or an `AttrValue`."""
        name = name or f"{_SCOPE}{len(self.definition.node)}"
        values = {key: _attr(value) for key, value in attrs.items()}
        self.definition.node.append(node_def_pb2.NodeDef(name=name, op=op, input=inputs, attr=values))
        return name

    def constant(self, value: Any, dtype: tf.DType) -> str:
        """The name of a constant."""
        array = np.asarray(value, dtype.as_numpy_dtype)
        key = (dtype, array.tobytes(), array.shape)
        if key not in self._constants:
            tensor = attr_value_pb2.AttrValue(tensor=tf.make_tensor_proto(array, dtype))
            self._constants[key] = self.add("Const", (), dtype=dtype, value=tensor)
        return self._constants[key]

    def joined(self, vectors: Sequence[str], dtype: tf.DType) -> str:
        """The vectors behind each other; at least one is needed."""
        if len(vectors) == 1:
            return vectors[0]
        axis = self.constant(0, tf.int32)
        return self.add("ConcatV2", [*vectors, axis], N=len(vectors), T=dtype, Tidx=tf.int32)


def _attr(value: Any) -> attr_value_pb2.AttrValue:
    if isinstance(value, tf.DType):
        return attr_value_pb2.AttrValue(type=value.as_datatype_enum)
    if isinstance(value, int):
        return attr_value_pb2.AttrValue(i=value)
    if isinstance(value, attr_value_pb2.AttrValue):
        return value
    raise TypeError(f"no attribute: {value!r}")


def magnitudes(nodes: Nodes, dtype: tf.DType, tensors: Sequence[tuple[str, int | None]]) -> str:
    """Nodes that compute the largest magnitude of each tensor.

    Args:
      nodes: Takes them.
      dtype: Of the tensors: floating, of 16 bits or more.
      tensors: As inputs of a node name them, each with its rank, None where that is not known.

    Returns:
      The name of an int64 vector with one element a tensor.
    """
    bits, _ = _BITS[dtype]
    largest = [_largest_bits(nodes, dtype, source, rank) for source, rank in tensors]
    packed = nodes.add("Pack", largest, N=len(largest), T=bits, axis=0)
    # The maximum of no elements is the lowest number there is.
    packed = nodes.add("Maximum", [packed, nodes.constant(0, bits)], T=bits)
    if dtype == tf.float64:
        return packed
    floats = nodes.add("Bitcast", [packed], T=bits, type=dtype)
    doubles = nodes.add("Cast", [floats], SrcT=dtype, DstT=tf.float64)
    return nodes.add("Bitcast", [doubles], T=tf.float64, type=tf.int64)


def _largest_bits(nodes: Nodes, dtype: tf.DType, source: str, rank: int | None) -> str:
    bits, mask = _BITS[dtype]
    if rank is None:
        source, rank = _flat(nodes, source, dtype), 1
    word = nodes.add("Bitcast", [source], T=dtype, type=bits)
    word = nodes.add("BitwiseAnd", [word, nodes.constant(mask, bits)], T=bits)
    if rank == 0:
        return word
    axes = nodes.constant(range(rank), tf.int32)
    return nodes.add("Max", [word, axes], T=bits, Tidx=tf.int32)


def _flat(nodes: Nodes, source: str, dtype: tf.DType) -> str:
    return nodes.add("Reshape", [source, nodes.constant([-1], tf.int32)], T=dtype, Tshape=tf.int32)
