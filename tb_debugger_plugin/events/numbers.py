"""The numbers of an array, as the kernels of the recorder count them: kinds of elements, moments, exponents.

Takes NumPy arrays. Whoever counts elements in Python counts them here; `tests/support/twin.py` defines what a
kernel computes, and a test compares the two for each dtype.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.events.modes import EXPONENT_EDGES, EXPONENTS

#: An array of any dtype.
Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
#: The exponent of a float64, in its bits, and the column that counts it.
_FIELD_MASK: Final = 0x7FF
_BINS: Final = np.searchsorted(EXPONENT_EDGES, np.arange(_FIELD_MASK + 1) - 1023, side="right")
#: Elements that are counted at a time, so that they stay in the cache of the processor.
_PART: Final = 1 << 16


def widened(values: Array) -> Array:
    """Return values of ``ml_dtypes`` as float32, which holds all of them, and other values as they are."""
    return values.astype(np.float32) if values.dtype.kind == "V" else values


def count_values(values: Array) -> dict[str, float]:
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


def moments_of(values: Array, repeats: int = 0) -> dict[str, float]:
    """Compute the statistics of the finite elements, as the summary of mode FULL_NUMERICS does.

    Args:
      values: A flat array.
      repeats: How many more elements equal the last one.

    Returns:
      ``min``, ``max``, ``mean`` and ``variance``; nothing if no element is finite, or for bools and complex
      numbers, which have no order.
    """
    if values.dtype.kind not in "fiu":
        return {}
    # The last value alone may stand for most of the elements.
    repeats = repeats if repeats and np.isfinite(values[-1]) else 0
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


def exponents_of(values: Array, repeats: int = 0) -> dict[str, float]:
    """Count the elements by powers of two, as the summary of mode EXPONENTS does.

    Args:
      values: An array.
      repeats: How many more elements equal the last one.

    Returns:
      The columns of `modes.EXPONENTS`; nothing for values that are not floating numbers.
    """
    if values.dtype.kind != "f":
        return {}
    values = values.reshape(-1)
    parts = [values[begin : begin + _PART] for begin in range(0, len(values), _PART)]
    counts = sum((_exponents(part) for part in parts), np.zeros(len(EXPONENTS)))
    if repeats:
        counts += repeats * _exponents(values[-1:])
    return dict(zip(EXPONENTS, counts.tolist(), strict=True))


def _exponents(values: Array) -> npt.NDArray[np.float64]:
    """Count elements by the bits of their exponents, which are those of the powers of two."""
    doubles = np.ascontiguousarray(values, np.float64)
    fields = (doubles.view(np.uint64) >> np.uint64(52)).astype(np.int16) & _FIELD_MASK
    by_field = np.bincount(fields, minlength=_FIELD_MASK + 1)
    by_field[_FIELD_MASK] = 0  # NaN and infinity
    if by_field[0]:  # 0, and what float64 cannot normalize
        by_field[0] = np.count_nonzero(doubles[fields == 0])
    return np.bincount(_BINS, weights=by_field, minlength=len(EXPONENTS)).astype(np.float64)
