"""The NumPy twin of the summary kernels: slow, obvious, and the definition of their results.

Takes an array and returns its summary in a mode, the vector that `docs/event-format.md` describes.

Invariant: the kernels in `native/src/summary.cc` give the same numbers for every input; mean and variance to
within a few roundings of a float64.
"""

from __future__ import annotations

import bisect
import math
from fractions import Fraction

import numpy as np

from tb_debugger_plugin.events.modes import (
    DIMS,
    EXPONENT_EDGES,
    EXPONENTS,
    MOMENTS,
    SHAPE_DIMS,
    SUMMARY_COLUMNS,
    TensorDebugMode,
    spec_of,
)

HOST_MEMORY = -1.0
#: What `bad_positions` returns of good elements.
NOWHERE = (None, None)


def summarize(array: np.ndarray, dtype: int, mode: TensorDebugMode, tensor_id: int) -> list[float]:
    """Compute the summary of a tensor.

    Args:
      array: Value of the tensor.
      dtype: Its DataType number in TensorFlow.
      mode: Decides which columns there are; one of the modes that `SUMMARY_COLUMNS` lists.
      tensor_id: Value of the first column.

    Returns:
      The columns of `mode`, in order.

    Raises:
      ValueError: The summary of `mode` is not a vector.
    """
    if mode not in SUMMARY_COLUMNS:
        raise ValueError(f"the summary of mode {mode.name} is not a vector")
    names = SUMMARY_COLUMNS[mode]
    columns = _description(array, dtype, tensor_id)
    if spec_of(mode).reads_elements:
        columns |= _measured(array)
    return [float(columns[name]) for name in names]


def bad_positions(array: np.ndarray) -> tuple[int | None, int | None]:
    """Return the positions of the first NaN or infinity and of the first NaN, each None if there is none."""
    flat = array.ravel().tolist()
    parts = [(x.real, x.imag) if isinstance(x, complex) else (x,) for x in flat]
    bad = [i for i, one in enumerate(parts) if not all(map(math.isfinite, one))]
    nan = [i for i, one in enumerate(parts) if any(map(math.isnan, one))]
    return (bad[0] if bad else None, nan[0] if nan else None)


def _description(array: np.ndarray, dtype: int, tensor_id: int) -> dict[str, float]:
    """Return the columns that do not depend on the elements."""
    dims = array.shape[-SHAPE_DIMS:]
    padded = [*dims, *[0] * (SHAPE_DIMS - len(dims))]
    values = {"tensor_id": tensor_id, "device_id": HOST_MEMORY, "dtype": dtype}
    return {**values, "rank": array.ndim, "size": array.size, **dict(zip(DIMS, padded, strict=True))}


def _measured(array: np.ndarray) -> dict[str, float]:
    """Return the columns of flags, counts and moments."""
    with np.errstate(invalid="ignore"):  # a signalling NaN is a NaN
        values = _as_complex(array) if array.dtype.kind == "c" else array.astype(np.float64)
    finite = values[np.isfinite(values)]
    kinds = {
        "neg_inf": values == -np.inf,
        "pos_inf": values == np.inf,
        "nan": np.isnan(values),
        "negative": finite < 0,
        "zero": finite == 0,
        "positive": finite > 0,
    }
    counts = {name: float(np.sum(kind)) for name, kind in kinds.items()}
    flags = {f"any_{name}": float(counts[name] > 0) for name in ("neg_inf", "pos_inf", "nan")}
    # Complex numbers have no order, so there is no smallest one.
    is_complex = array.dtype.kind == "c"
    moments = _moments([] if is_complex else finite.tolist())
    exponents = [math.nan] * len(EXPONENTS) if is_complex else _exponents(finite.tolist())
    return {
        **{**counts, **flags, "any_bad": max(flags.values())},
        **dict(zip(MOMENTS, moments, strict=True)),
        **dict(zip(EXPONENTS, exponents, strict=True)),
    }


def _as_complex(array: np.ndarray) -> np.ndarray:
    """Return a real number of the same kind for each complex one, whose kind is that of its worse part."""

    def kind(number: complex) -> float:
        parts = (number.real, number.imag)
        if any(map(math.isnan, parts)):
            return math.nan
        size = math.inf if any(map(math.isinf, parts)) else float(number != 0)
        return math.copysign(size, number.real or number.imag)

    return np.array([kind(complex(number)) for number in array.ravel().tolist()], np.float64)


def _moments(finite: list[float]) -> list[float]:
    """Return the smallest, largest, mean and variance of numbers; only the results are rounded."""
    if not finite:
        return [math.nan] * 4
    exact = [Fraction(x) for x in finite]
    mean = sum(exact, Fraction()) / len(exact)
    variance = sum(((x - mean) ** 2 for x in exact), Fraction()) / len(exact)
    # Adding 0.0 removes the sign of a zero.
    return [min(finite) + 0.0, max(finite) + 0.0, float(mean), _float(variance)]


def _exponents(finite: list[float]) -> list[float]:
    """Count numbers other than 0 by the power of two that their magnitude reaches."""
    edges = [math.ldexp(1.0, edge) for edge in EXPONENT_EDGES]
    counts = [0.0] * len(EXPONENTS)
    for number in finite:
        if number != 0:
            counts[bisect.bisect_right(edges, abs(number))] += 1
    return counts


def _float(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf
