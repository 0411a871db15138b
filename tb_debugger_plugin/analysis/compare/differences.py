"""How far pairs of recorded summaries are apart.

Takes rows of two runs that belong together, and returns their relative differences as an array. A difference
of shape, or of the number of NaN or infinities, is infinite: no rounding explains it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.compare.rows import Rows
from tb_debugger_plugin.analysis.compare.tolerance import roundings

_Floats = npt.NDArray[np.float64]
_Flags = npt.NDArray[np.bool_]

_COUNTED: Final = ("neg_inf", "pos_inf", "nan")
_SIGNS: Final = ("negative", "zero", "positive")
#: Part of the elements of a tensor that changes its sign when all are off by the tolerance.
_FLIPS: Final = 4.0


@dataclass(frozen=True)
class Differences:
    """The differences of pairs of rows.

    Attributes:
      relative: The largest difference of a number, as part of the size of the tensor; infinite when shape,
        NaN or infinities differ, NaN when the runs have no number in common.
      unit: The rounding of the coarser dtype.
      scale: The size of the larger tensor.
    """

    relative: _Floats
    unit: _Floats
    scale: _Floats


def differences(first: Rows, second: Rows, shapes: npt.NDArray[np.int64]) -> Differences:
    """Compare rows.

    Args:
      first, second: As many rows of both runs.
      shapes: For each shape of the second run, its number in the first one; -2 if that has none such.
    """
    a, b = first.columns, second.columns
    rounding = roundings(a["dtype"], b["dtype"])
    there = np.append(shapes, -1)[b["shape"]]
    known = (a["shape"] >= 0) & (b["shape"] >= 0)
    hard = known & (a["shape"] != there)
    hard |= (a["health"] != b["health"]) & (a["health"] > 0) & (b["health"] > 0)
    for name in ("size", *_COUNTED):
        hard |= _apart(a[name], b[name]) > 0
    scale = np.fmax.reduce([np.abs(side[name]) for side in (a, b) for name in ("min", "max")])
    measured = np.isfinite(scale)
    scale = np.where(measured, scale, 0.0) + rounding.smallest
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        parts = [_apart(a[name], b[name]) / scale for name in ("min", "max", "mean")]
        parts.append(_apart(a["variance"], b["variance"]) / scale / scale / 2)
        parts.append(_flips(first, second, measured))
        relative = np.fmax.reduce(parts)
    relative = np.nan_to_num(relative, nan=0.0, posinf=1e300)
    # One run may know only that a value is good, as of what XLA compiled, while the other one counted.
    is_alike = np.isfinite(a["zero"]) == np.isfinite(b["zero"])
    is_known = (a["health"] > 0) & (b["health"] > 0) & is_alike
    relative = np.where(hard, np.inf, np.where(is_known, relative, np.nan))
    return Differences(relative, rounding.unit, scale)


def _apart(a: _Floats, b: _Floats) -> _Floats:
    """Return the difference of two numbers; 0 if one of them was not recorded."""
    return np.nan_to_num(np.abs(a - b), nan=0.0, posinf=np.inf)


def _flips(first: Rows, second: Rows, measured: _Flags) -> _Floats:
    """Return the share of elements with another sign; one is free where the numbers are known, too."""
    a, b = first.columns, second.columns
    flips = np.add.reduce([_apart(a[name], b[name]) for name in _SIGNS]) / 2
    flips = np.where(measured, np.maximum(0.0, flips - 1.0), flips)
    return np.asarray(flips / _FLIPS / np.fmax(1.0, a["size"]))
