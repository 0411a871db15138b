"""The values of recorded tensors as NumPy arrays, and counts of their kinds.

Takes ``TensorProto`` messages and returns flat arrays and counts.

Invariants: any bytes are accepted; a tensor stored in few bytes takes little time and memory, however large
its shape is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.events import dtypes
from tb_debugger_plugin.events.dtypes import numpy_dtype
from tb_debugger_plugin.events.modes import EXPONENT_EDGES, EXPONENTS

MAX_RANK: Final = 254
#: Elements of a tensor; a tensor with more has no size. A float64 represents every count up to this one.
MAX_SIZE: Final = 1 << 53
#: How often :func:`whole_tensor` repeats the last value of a tensor at most.
_MAX_REPEATS: Final = 1 << 24
#: Dtypes whose bits stand in ``half_val``.
_HALVES: Final = (dtypes.NUMBER_OF["float16"], dtypes.BFLOAT16)
#: The exponent of a float64, in its bits, and the column that counts it.
_FIELD_MASK: Final = 0x7FF
_BINS: Final = np.searchsorted(EXPONENT_EDGES, np.arange(_FIELD_MASK + 1) - 1023, side="right")
#: Elements that are counted at a time, so that they stay in the cache of the processor.
_PART: Final = 1 << 16
_VALUE_FIELDS: Final = (
    *("float_val", "double_val", "int_val", "int64_val", "bool_val"),
    *("half_val", "uint32_val", "uint64_val", "scomplex_val", "dcomplex_val"),
)


def widened(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return values of ``ml_dtypes`` as float32, which holds all of them, and other values as they are."""
    return values.astype(np.float32) if values.dtype.kind == "V" else values


@dataclass(frozen=True)
class Stored:
    """The values of a tensor as they are stored: the last value may stand for more elements.

    Attributes:
      values: A flat array.
      repeats: How many more elements equal the last value.
    """

    values: npt.NDArray[Any]
    repeats: int = 0

    @property
    def size(self) -> int:
        """The number of elements of the tensor."""
        return len(self.values) + self.repeats


def whole_tensor(proto: Any) -> npt.NDArray[Any] | None:
    """Return all values of a ``TensorProto`` as a flat array.

    Args:
      proto: As for :func:`stored`.

    Returns:
      The values; None when :func:`stored` returns None, and when few values stand for a huge tensor.
    """
    tensor = stored(proto)
    if tensor is None or tensor.repeats > _MAX_REPEATS:
        return None
    return np.concatenate([tensor.values, np.repeat(tensor.values[-1:], tensor.repeats)])


def stored(proto: Any) -> Stored | None:
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


def _from_content(proto: Any, kind: np.dtype[Any], size: int) -> Stored | None:
    if len(proto.tensor_content) != size * kind.itemsize:
        return None
    return Stored(np.frombuffer(proto.tensor_content, kind))


def _from_values(proto: Any, kind: np.dtype[Any], size: int) -> Stored | None:
    values = next((getattr(proto, name) for name in _VALUE_FIELDS if len(getattr(proto, name))), None)
    if values is None:
        # All elements are zero, which protobuf leaves out; a shape alone must not cost memory.
        return Stored(np.zeros(size, kind)) if size <= 1 else None
    array = _elements(proto, values, kind)
    if array is None or not 0 < array.size <= size < MAX_SIZE:
        return None
    return Stored(array, size - array.size)


def _elements(proto: Any, values: Any, kind: np.dtype[Any]) -> npt.NDArray[Any] | None:
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


def count_values(values: npt.NDArray[Any]) -> dict[str, float]:
    """Count the elements of each kind, as the summary of mode FULL_HEALTH does.

    Args:
      values: Any numeric or bool array. A complex number is NaN, or infinite, when one of its parts is; its
        sign is that of its real part, or of the imaginary part when the real part is 0.

    Returns:
      ``size``, ``neg_inf``, ``pos_inf``, ``nan``, ``negative``, ``zero``, ``positive``.
    """
    values = widened(values)
    real = np.where(values.real == 0, values.imag, values.real) if values.dtype.kind == "c" else values
    nan = np.isnan(values) if values.dtype.kind in "fc" else np.zeros(values.shape, bool)
    infinite = (np.isinf(values) if values.dtype.kind in "fc" else nan) & ~nan
    finite = real[~nan & ~infinite]
    neg_inf = int(np.count_nonzero(infinite & (real < 0)))
    negative = int(np.count_nonzero(finite < 0)) if finite.dtype.kind in "fi" else 0
    zero = int(np.count_nonzero(finite == 0))
    return {
        "size": values.size,
        "neg_inf": neg_inf,
        "pos_inf": int(np.count_nonzero(infinite)) - neg_inf,
        "nan": int(np.count_nonzero(nan)),
        "negative": negative,
        "zero": zero,
        "positive": finite.size - negative - zero,
    }


def moments_of(tensor: Stored) -> dict[str, float]:
    """Compute the statistics of the finite elements, as the summary of mode FULL_NUMERICS does.

    Args:
      tensor: The values.

    Returns:
      ``min``, ``max``, ``mean`` and ``variance``; nothing if no element is finite, or for bools and complex
      numbers, which have no order.
    """
    if tensor.values.dtype.kind not in "fiu":
        return {}
    values = tensor.values
    # The last value alone may stand for most of the elements.
    repeats = tensor.repeats if tensor.repeats and np.isfinite(values[-1]) else 0
    finite = values[np.isfinite(values)].astype(np.float64)
    if not finite.size:
        return {}
    low, high = float(finite.min()), float(finite.max())
    # Sums of the largest numbers would overflow.
    scale = max(-low, high, -high, low) or 1.0
    scaled = finite / scale
    size = finite.size + repeats
    mean = float(scaled.sum() + repeats * scaled[-1]) / size
    scaled -= mean
    variance = float(scaled @ scaled + repeats * scaled[-1] ** 2) / size
    with np.errstate(over="ignore"):
        moments = {"min": low, "max": high, "mean": mean * scale, "variance": variance * scale * scale}
    # Adding 0.0 removes the sign of a zero.
    return {name: value + 0.0 for name, value in moments.items()}


def exponents_of(tensor: Stored) -> dict[str, float]:
    """Count the elements by powers of two, as the summary of mode EXPONENTS does.

    Args:
      tensor: The values.

    Returns:
      The columns of `modes.EXPONENTS`; nothing for values that are not floating numbers.
    """
    if tensor.values.dtype.kind != "f":
        return {}
    values = tensor.values.reshape(-1)
    parts = [values[begin : begin + _PART] for begin in range(0, len(values), _PART)]
    counts = sum((_exponents(part) for part in parts), np.zeros(len(EXPONENTS)))
    if tensor.repeats:
        counts += tensor.repeats * _exponents(values[-1:])
    return dict(zip(EXPONENTS, counts.tolist(), strict=True))


def _exponents(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Count elements by the bits of their exponents, which are those of the powers of two."""
    doubles = np.ascontiguousarray(values, np.float64)
    fields = (doubles.view(np.uint64) >> np.uint64(52)).astype(np.int16) & _FIELD_MASK
    by_field = np.bincount(fields, minlength=_FIELD_MASK + 1)
    by_field[_FIELD_MASK] = 0  # NaN and infinity
    if by_field[0]:  # 0, and what float64 cannot normalize
        by_field[0] = np.count_nonzero(doubles[fields == 0])
    return np.bincount(_BINS, weights=by_field, minlength=len(EXPONENTS)).astype(np.float64)
