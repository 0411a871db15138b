"""The values of recorded tensors as NumPy arrays.

Takes ``TensorProto`` messages and returns flat arrays.

Invariants: any bytes are accepted; a tensor stored in few bytes takes little time and memory, however large
its shape is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_debugger_plugin.events import dtypes
from tb_debugger_plugin.events.dtypes import numpy_dtype
from tb_debugger_plugin.events.messages import Message
from tb_debugger_plugin.events.numbers import Array

MAX_RANK: Final = 254
#: Elements of a tensor; a tensor with more has no size. A float64 represents every count up to this one.
MAX_SIZE: Final = 1 << 53
#: Dtypes whose bits stand in ``half_val``.
_HALVES: Final = (dtypes.NUMBER_OF["float16"], dtypes.BFLOAT16)
_VALUE_FIELDS: Final = (
    *("float_val", "double_val", "int_val", "int64_val", "bool_val"),
    *("half_val", "uint32_val", "uint64_val", "scomplex_val", "dcomplex_val"),
)


@dataclass(frozen=True)
class Stored:
    """The values of a tensor as they are stored: the last value may stand for more elements.

    Attributes:
      values: A flat array.
      repeats: How many more elements equal the last value.
    """

    values: Array
    repeats: int = 0

    @property
    def size(self) -> int:
        """The number of elements of the tensor."""
        return len(self.values) + self.repeats


def stored(proto: Message) -> Stored | None:
    """Return the stored values of a ``TensorProto``.

    Args:
      proto: Written by TensorFlow or by us: bytes in ``tensor_content``, or elements in a ``*_val`` field,
        whose last one stands for all elements after it.

    Returns:
      The values; None when the dtype has no numbers or the bytes do not fit the shape.
    """
    kind = numpy_dtype(proto.dtype)
    dims = [dim.size for dim in proto.tensor_shape.dim]
    if kind is None or proto.tensor_shape.unknown_rank or min(dims, default=0) < 0 or len(dims) > MAX_RANK:
        return None
    size = math.prod(dims)
    if proto.tensor_content:
        return _from_content(proto, kind, size)
    return _from_values(proto, kind, size)


def _from_content(proto: Message, kind: np.dtype[np.generic], size: int) -> Stored | None:
    if len(proto.tensor_content) != size * kind.itemsize:
        return None
    return Stored(np.frombuffer(proto.tensor_content, kind))


def _from_values(proto: Message, kind: np.dtype[np.generic], size: int) -> Stored | None:
    values = next((getattr(proto, name) for name in _VALUE_FIELDS if len(getattr(proto, name))), None)
    if values is None:
        # All elements are zero, which protobuf leaves out; a shape alone must not cost memory.
        return Stored(np.zeros(size, kind)) if size <= 1 else None
    array = _elements(proto, values, kind)
    if array is None or not 0 < array.size <= size < MAX_SIZE:
        return None
    return Stored(array, size - array.size)


def _elements(proto: Message, values: Sequence[float], kind: np.dtype[np.generic]) -> Array | None:
    try:
        # A value that does not fit its type is damage: any number may result, but no warning.
        with np.errstate(invalid="ignore", over="ignore"):
            if proto.dtype in _HALVES and len(proto.half_val):
                return np.array(proto.half_val, np.int64).astype("<u2").view(kind)
            if kind.kind == "c":
                return np.array(values, np.float64).view(np.complex128).astype(kind)
            return np.array(values).astype(kind)
    except (ValueError, OverflowError):
        return None
