"""Counts the elements of tensors that are -inf, +inf and NaN, with ops that XLA can compile.

Adds nodes to a graph's definition. They compute an int64 vector: the magnitude of each tensor, as in
`magnitudes`, then three counts for each tensor.

Invariants: bits are compared, not floats. A complex number counts as in the recorder's kernel.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import tensorflow as tf

from tb_debugger_plugin.capture.engines.xla.magnitudes import (
    BITS,
    INFINITY,
    PARTS,
    WIDER,
    ByKind,
    Kind,
    Nodes,
    compared_dtype,
    kind_of,
    reshaped,
    table_of,
)
from tb_debugger_plugin.capture.graph.copies import Copies
from tb_debugger_plugin.capture.tf_types import AttrValue, GraphDef, NameAttrList, TfTensor

#: Number of counts of each tensor.
KINDS = 3
#: Bits of each count. The counts of a tensor are packed into one sum.
_COUNT_BITS = 21
#: Most elements that one sum can count.
_MOST = (1 << _COUNT_BITS) - 1
#: The summand of one element of each kind.
_NEG_INF, _POS_INF, _NAN = (1 << _COUNT_BITS * kind for kind in range(KINDS))


def kind_to_count(tensor: TfTensor) -> Kind | None:
    """Return the kind of a tensor whose bad elements are counted; None when they cannot be counted."""
    kind = kind_of(tensor)
    fits = tensor.shape.is_fully_defined() and math.prod(tensor.shape.as_list()) <= _MOST
    return None if kind is None else replace(kind, is_wide=not fits)


def define_counting(dtype: tf.DType, copies: Copies) -> str:
    """Define the function that returns the packed counts of each row of a matrix.

    It is called for each tensor, so that its ops need not be added for each.

    Args:
      dtype: Dtype of the matrix, whose rows have at most `_MOST` elements.
      copies: Registers the function.

    Returns:
      The name of the function.
    """
    name = f"tb_debugger_count_{dtype.name}"
    made = copies.get(name)
    if made is not None:
        return made
    nodes = Nodes(GraphDef())
    matrix = nodes.add("Placeholder", (), name="matrix", dtype=dtype)
    summands, axis = _summands(nodes, matrix, dtype), nodes.constant([1], tf.int32)
    sums = nodes.add("Sum", [summands, axis], T=tf.int64, Tidx=tf.int32)
    return copies.define_new(name, nodes.definition, [matrix], outputs=[sums])


def count_bad(nodes: Nodes, by_kind: ByKind, copies: Copies) -> str:
    """Add nodes that count the bad elements of each tensor.

    Args:
      nodes: The graph.
      by_kind: The tensors; kinds that are wide come last.
      copies: Registers the functions that count.

    Returns:
      The name of an int64 vector: a magnitude for each tensor, then `KINDS` counts for each.
    """
    sums, wide_counts = [], []
    for kind, tensors in by_kind.items():
        counting = define_counting(kind.dtype, copies)
        if kind.is_wide:
            wide_counts += [_count_wide(nodes, kind.dtype, *tensor, counting) for tensor in tensors]
        elif kind.size is None:
            sums += [_call(nodes, counting, kind.dtype, source, (1, -1)) for source, _ in tensors]
        else:
            table, _ = table_of(nodes, kind.dtype, kind.size, tensors)
            sums.append(_call(nodes, counting, kind.dtype, table, (-1, kind.size)))
    first = [_unpacked(nodes, nodes.concat(sums, tf.int64))] if sums else []
    counts = nodes.concat([*first, *wide_counts], tf.int64)
    return nodes.concat([_magnitudes(nodes, counts), reshaped(nodes, counts, tf.int64, (-1,))], tf.int64)


def _count_wide(nodes: Nodes, dtype: tf.DType, source: str, shape: tf.TensorShape, counting: str) -> str:
    counts = _unpacked(nodes, _call(nodes, counting, dtype, source, (-1, _width(shape))))
    axis = nodes.constant([0], tf.int32)
    return reshaped(nodes, nodes.add("Sum", [counts, axis], T=tf.int64, Tidx=tf.int32), tf.int64, (1, KINDS))


def _width(shape: tf.TensorShape) -> int:
    """Return the number of elements of a wide tensor that one sum counts: those of its last dimensions."""
    width = 1
    for size in reversed(shape.as_list() if shape.rank else []):
        if not size or width * size > _MOST:
            break
        width *= size
    return width


def _call(nodes: Nodes, counting: str, dtype: tf.DType, source: str, shape: tuple[int, int]) -> str:
    function = AttrValue(func=NameAttrList(name=counting))
    types = [AttrValue(list=AttrValue.ListValue(type=[part.as_datatype_enum])) for part in (dtype, tf.int64)]
    matrix = reshaped(nodes, source, dtype, shape)
    return nodes.add("PartitionedCall", [matrix], f=function, Tin=types[0], Tout=types[1])


def _unpacked(nodes: Nodes, sums: str) -> str:
    """Return the counts in a vector of sums, one row for each sum."""
    sums = reshaped(nodes, sums, tf.int64, (-1, 1))
    shifts = nodes.constant([_COUNT_BITS * kind for kind in range(KINDS)], tf.int64)
    shifted = nodes.add("RightShift", [sums, shifts], T=tf.int64)
    return nodes.add("BitwiseAnd", [shifted, nodes.constant(_MOST, tf.int64)], T=tf.int64)


def _magnitudes(nodes: Nodes, counts: str) -> str:
    is_present = nodes.add("Greater", [counts, nodes.constant(0, tf.int64)], T=tf.int64)
    magnitudes = nodes.constant([INFINITY, INFINITY, INFINITY + 1], tf.int64)
    of_kinds = nodes.add("SelectV2", [is_present, magnitudes, nodes.constant(0, tf.int64)], T=tf.int64)
    return nodes.add("Max", [of_kinds, nodes.constant([1], tf.int32)], T=tf.int64, Tidx=tf.int32)


def _summands(nodes: Nodes, source: str, dtype: tf.DType) -> str:
    """Return the summand of each element."""
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
    """Return the bits of each element without its sign, bits that have its sign, and the dtype of both."""
    part = compared_dtype(dtype)
    bits, mask = BITS[part]
    if dtype in WIDER:
        source = nodes.add("Cast", [source], SrcT=dtype, DstT=part)
    parts = [source]
    if dtype in PARTS:
        parts = [nodes.add(op, [source], T=dtype, Tout=part) for op in ("Real", "Imag")]
    words = [nodes.add("Bitcast", [floats], T=part, type=bits) for floats in parts]
    largest = [nodes.add("BitwiseAnd", [word, nodes.constant(mask, bits)], T=bits) for word in words]
    if dtype not in PARTS:
        return largest[0], words[0], part
    # A complex number has the sign of its real part, or of its imaginary part where the real part is 0.
    no_real = nodes.add("Equal", [largest[0], nodes.constant(0, bits)], T=bits)
    signed = nodes.add("SelectV2", [no_real, words[1], words[0]], T=bits)
    return nodes.add("Maximum", largest, T=bits), signed, part
