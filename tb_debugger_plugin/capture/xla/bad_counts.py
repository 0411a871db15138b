"""How many elements of each tensor are -inf, +inf and NaN, computed by ops that XLA can compile.

In come tensors of a graph's definition, out come nodes behind them: an int64 vector with the magnitude of
each tensor, as in `magnitudes`, and behind these three numbers for each. Rule: bits are compared, not floats,
and a complex number counts as the recorder's kernel counts it.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, graph_pb2

from tb_debugger_plugin.capture.functions.copies import Copies
from tb_debugger_plugin.capture.xla.magnitudes import (
    BITS,
    INFINITY,
    PARTS,
    WIDER,
    ByKind,
    Kind,
    Nodes,
    compared_as,
    kind_of,
    reshaped,
    table_of,
)

#: How many numbers there are of each tensor.
KINDS = 3
#: So many bits have the counts that are summed up as one number.
_BITS_EACH = 21
#: So many elements at most are counted with these.
_MOST = (1 << _BITS_EACH) - 1
#: What stands for an element of each kind in such a sum.
_NEG_INF, _POS_INF, _NAN = (1 << _BITS_EACH * kind for kind in range(KINDS))


def kind_to_count(tensor: tf.Tensor) -> Kind | None:
    """The kind of a tensor whose bad elements are counted; None when that cannot be."""
    kind = kind_of(tensor)
    fits = tensor.shape.is_fully_defined() and math.prod(tensor.shape.as_list()) <= _MOST
    return None if kind is None else replace(kind, is_wide=not fits)


def define_counting(dtype: tf.DType, copies: Copies) -> str:
    """Define the function that counts: of each row of a matrix, a sum of what stands for its elements.

    It is called for each tensor, so that its ops need not be added for each.

    Args:
      dtype: Of the matrix, whose rows may have `_MOST` elements.
      copies: Takes the function.

    Returns:
      Its name.
    """
    name = f"tb_debugger_count_{dtype.name}"
    found = copies.get(name)
    if found is not None:
        return found
    nodes = Nodes(graph_pb2.GraphDef())
    matrix = nodes.add("Placeholder", (), name="matrix", dtype=dtype)
    parts, axis = _parts_of_sum(nodes, matrix, dtype), nodes.constant([1], tf.int32)
    sums = nodes.add("Sum", [parts, axis], T=tf.int64, Tidx=tf.int32)
    return copies.define_new(name, nodes.definition, [matrix], outputs=[sums])


def counted(nodes: Nodes, by_kind: ByKind, copies: Copies) -> str:
    """Nodes that count the bad elements of each tensor.

    Args:
      nodes: Takes them.
      by_kind: What to count in; kinds that are wide come last.
      copies: Takes the functions that count.

    Returns:
      The name of an int64 vector: a magnitude for each tensor, then `KINDS` counts for each.
    """
    sums, counts = [], []
    for kind, tensors in by_kind.items():
        counting = define_counting(kind.dtype, copies)
        if kind.is_wide:
            counts += [_of_wide(nodes, kind.dtype, *tensor, counting) for tensor in tensors]
        elif kind.size is None:
            sums += [_call(nodes, counting, kind.dtype, source, (1, -1)) for source, _ in tensors]
        else:
            table, _ = table_of(nodes, kind.dtype, kind.size, tensors)
            sums.append(_call(nodes, counting, kind.dtype, table, (-1, kind.size)))
    first = [_taken_apart(nodes, nodes.joined(sums, tf.int64))] if sums else []
    found = nodes.joined([*first, *counts], tf.int64)
    return nodes.joined([_magnitudes(nodes, found), reshaped(nodes, found, tf.int64, (-1,))], tf.int64)


def _of_wide(nodes: Nodes, dtype: tf.DType, source: str, shape: tf.TensorShape, counting: str) -> str:
    counts = _taken_apart(nodes, _call(nodes, counting, dtype, source, (-1, _width(shape))))
    axis = nodes.constant([0], tf.int32)
    return reshaped(nodes, nodes.add("Sum", [counts, axis], T=tf.int64, Tidx=tf.int32), tf.int64, (1, KINDS))


def _width(shape: tf.TensorShape) -> int:
    """How many elements of a wide tensor are counted by one sum: those of its last dimensions."""
    width = 1
    for size in reversed(shape.as_list() if shape.rank else []):
        if not size or width * size > _MOST:
            break
        width *= size
    return width


def _call(nodes: Nodes, counting: str, dtype: tf.DType, source: str, shape: tuple[int, int]) -> str:
    function = attr_value_pb2.AttrValue(func=attr_value_pb2.NameAttrList(name=counting))
    types = [
        attr_value_pb2.AttrValue(list=attr_value_pb2.AttrValue.ListValue(type=[each.as_datatype_enum]))
        for each in (dtype, tf.int64)
    ]
    matrix = reshaped(nodes, source, dtype, shape)
    return nodes.add("PartitionedCall", [matrix], f=function, Tin=types[0], Tout=types[1])


def _taken_apart(nodes: Nodes, sums: str) -> str:
    """The counts in a vector of sums; each has a row."""
    sums = reshaped(nodes, sums, tf.int64, (-1, 1))
    shifts = nodes.constant([_BITS_EACH * kind for kind in range(KINDS)], tf.int64)
    shifted = nodes.add("RightShift", [sums, shifts], T=tf.int64)
    return nodes.add("BitwiseAnd", [shifted, nodes.constant(_MOST, tf.int64)], T=tf.int64)


def _magnitudes(nodes: Nodes, counts: str) -> str:
    there = nodes.add("Greater", [counts, nodes.constant(0, tf.int64)], T=tf.int64)
    magnitudes = nodes.constant([INFINITY, INFINITY, INFINITY + 1], tf.int64)
    found = nodes.add("SelectV2", [there, magnitudes, nodes.constant(0, tf.int64)], T=tf.int64)
    return nodes.add("Max", [found, nodes.constant([1], tf.int32)], T=tf.int64, Tidx=tf.int32)


def _parts_of_sum(nodes: Nodes, source: str, dtype: tf.DType) -> str:
    """What stands for each element."""
    largest, signed, part = _largest_and_signed(nodes, source, dtype)
    bits, _ = BITS[part]
    infinity = nodes.constant(np.array(np.inf, part.as_numpy_dtype).view(bits.as_numpy_dtype), bits)

    def compared(op: str, left: str, right: str, then: str, otherwise: str) -> str:
        return nodes.add("SelectV2", [nodes.add(op, [left, right], T=bits), then, otherwise], T=tf.int64)

    good, neg_inf, pos_inf, nan = (nodes.constant(n, tf.int64) for n in (0, _NEG_INF, _POS_INF, _NAN))
    infinite = compared("Less", signed, nodes.constant(0, bits), neg_inf, pos_inf)
    bad = compared("Greater", largest, infinity, nan, infinite)
    return compared("Less", largest, infinity, good, bad)


def _largest_and_signed(nodes: Nodes, source: str, dtype: tf.DType) -> tuple[str, str, tf.DType]:
    """The bits of each element without its sign, and bits that have its sign; and whose bits these are."""
    part = compared_as(dtype)
    bits, mask = BITS[part]
    if dtype in WIDER:
        source = nodes.add("Cast", [source], SrcT=dtype, DstT=part)
    parts = [source]
    if dtype in PARTS:
        parts = [nodes.add(op, [source], T=dtype, Tout=part) for op in ("Real", "Imag")]
    words = [nodes.add("Bitcast", [each], T=part, type=bits) for each in parts]
    largest = [nodes.add("BitwiseAnd", [word, nodes.constant(mask, bits)], T=bits) for word in words]
    if dtype not in PARTS:
        return largest[0], words[0], part
    # A complex number has the sign of its real part, or where that is 0 of the other one.
    no_real = nodes.add("Equal", [largest[0], nodes.constant(0, bits)], T=bits)
    signed = nodes.add("SelectV2", [no_real, words[1], words[0]], T=bits)
    return nodes.add("Maximum", largest, T=bits), signed, part
