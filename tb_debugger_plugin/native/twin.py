"""The NumPy twin of the summary kernels: slow, obvious, and the definition of their results.

Takes an array and returns its summary in a mode, the vector that `docs/event-format.md` describes.

Invariant: the kernels in `src/summary.cc` give the same numbers for every input; mean and variance to within
a few roundings of a float64.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from tb_debugger_plugin.events.modes import SHAPE_DIMS, TensorDebugMode

HOST_MEMORY = -1.0


def summarize(array: np.ndarray[Any, Any], dtype: int, mode: TensorDebugMode, tensor_id: int) -> list[float]:
    """Computes the summary of a tensor.

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
    if mode is TensorDebugMode.SHAPE:
        dims = list(array.shape[-SHAPE_DIMS:])
        padding = [0] * (SHAPE_DIMS - len(dims))
        return [float(x) for x in [tensor_id, dtype, array.ndim, array.size, *dims, *padding]]
    with np.errstate(invalid="ignore"):  # a signalling NaN is a NaN
        values = _as_complex(array) if array.dtype.kind == "c" else array.astype(np.float64)
    bad = [np.sum(values == -np.inf), np.sum(values == np.inf), np.sum(np.isnan(values))]
    if mode is TensorDebugMode.CURT_HEALTH:
        return [float(tensor_id), float(any(bad))]
    if mode is TensorDebugMode.CONCISE_HEALTH:
        return [float(x) for x in [tensor_id, array.size, *bad]]
    if mode in (TensorDebugMode.FULL_HEALTH, TensorDebugMode.FULL_NUMERICS):
        finite = values[np.isfinite(values)]
        signs = [np.sum(finite < 0), np.sum(finite == 0), np.sum(finite > 0)]
        health = [float(x) for x in [tensor_id, HOST_MEMORY, dtype, array.ndim, array.size, *bad, *signs]]
        if mode is TensorDebugMode.FULL_HEALTH:
            return health
        # Complex numbers have no order, so there is no smallest one.
        return health + _moments(finite.tolist() if array.dtype.kind != "c" else [])
    raise ValueError(f"the summary of mode {mode.name} is not a vector")


def _as_complex(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns a real number of the same kind for each complex one, whose kind is that of its worse part."""

    def kind(number: complex) -> float:
        parts = (number.real, number.imag)
        if any(map(math.isnan, parts)):
            return math.nan
        size = math.inf if any(map(math.isinf, parts)) else float(number != 0)
        return math.copysign(size, number.real or number.imag)

    return np.array([kind(complex(number)) for number in array.ravel().tolist()], np.float64)


def _moments(finite: list[float]) -> list[float]:
    """Returns the smallest, largest, mean and variance of numbers; only the results are rounded."""
    if not finite:
        return [math.nan] * 4
    exact = [Fraction(x) for x in finite]
    mean = sum(exact, Fraction()) / len(exact)
    variance = sum(((x - mean) ** 2 for x in exact), Fraction()) / len(exact)
    # Adding 0.0 removes the sign of a zero.
    return [min(finite) + 0.0, max(finite) + 0.0, float(mean), _float(variance)]


def _float(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf
