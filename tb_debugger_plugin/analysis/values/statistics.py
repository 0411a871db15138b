"""The statistics of a slice: counts of kinds, moments, a histogram, and how much lies in a range.

Takes the elements of a tensor and a slicing; reads the elements block by block, twice for a histogram.

Formulas: mean and standard deviation are those of the population of finite elements; the blocks are combined
as in Chan, Golub and LeVeque, *Updating Formulae and a Pairwise Algorithm for Computing Sample Variances*
(1979). A histogram has bins of equal width from the smallest to the largest finite element; each includes its
lower end, the last one both ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypedDict

import numpy as np

from tb_debugger_plugin.analysis.snapshot import Json
from tb_debugger_plugin.analysis.values.elements import blocks, real_numbers
from tb_debugger_plugin.analysis.values.health import finite
from tb_debugger_plugin.analysis.values.slicing import Slicing
from tb_debugger_plugin.events.numbers import Array, count_values
from tb_debugger_plugin.index.stored_tensor import StoredElements

_KINDS = ("neg_inf", "negative", "zero", "positive", "pos_inf", "nan")


class ValueCountsJson(TypedDict, total=False):
    """How many elements there are of each kind."""

    neg_inf: int  #: of numbers: the kinds
    negative: int
    zero: int
    positive: int
    pos_inf: int
    nan: int
    false: int  #: of bools: the kinds
    true: int


class HistogramJson(TypedDict):
    """How finite elements are spread."""

    edges: list[float]  #: ends of the bins, one more than there are bins
    counts: list[int]  #: number of elements of each bin


class ValueSummaryJson(TypedDict):
    """The statistics of a slice."""

    size: int  #: number of elements
    counts: ValueCountsJson | None  #: of each kind; null of strings
    min: float | None  #: of the finite elements; null without any
    max: float | None
    mean: float | None
    std: float | None
    histogram: HistogramJson | None  #: equal bins; null without finite elements
    in_range: int | None  #: number of elements in the range; null without a range


class _Moments:
    """Minimum, maximum, mean and variance of numbers that come in blocks."""

    def __init__(self) -> None:
        self.count = 0
        self.min, self.max = math.inf, -math.inf
        self.mean = self._deviations = 0.0

    def add(self, values: Array) -> None:
        """Add finite numbers."""
        if not len(values):
            return
        # Large numbers overflow when they are squared: the deviation is then unknown.
        with np.errstate(over="ignore", invalid="ignore"):
            wide = values.astype(np.float64)
            mean, count = float(wide.mean()), self.count + len(values)
            difference = mean - self.mean
            self._deviations += float(np.square(wide - mean).sum())
            self._deviations += difference * difference * self.count * len(values) / count
        self.mean += difference * len(values) / count
        self.count = count
        self.min, self.max = min(self.min, float(wide.min())), max(self.max, float(wide.max()))

    @property
    def std(self) -> float:
        """The standard deviation."""
        return math.sqrt(self._deviations / self.count) if math.isfinite(self._deviations) else math.nan


def statistics(
    elements: StoredElements, slicing: Slicing, *, bins: int, low: float | None, high: float | None, part: str
) -> Json:
    """Return the statistics of a slice, as the route ``values/summary`` answers.

    Args:
      elements: The elements of the tensor.
      slicing: Which of them.
      bins: The number of bins of the histogram.
      low: The lower end of a range; None with `high` None for no range, else for no lower end.
      high: The upper end. Both ends belong to the range.
      part: What of complex numbers is taken; a key of `numbers.PARTS`.

    Raises:
      FormatError: The file has changed.
    """
    if elements.kind.kind == "O":
        return {"size": slicing.size, "counts": None, **_NOTHING, "in_range": None}
    counts = dict.fromkeys(_KINDS, 0)
    moments, in_range, has_range = _Moments(), 0, low is not None or high is not None
    for values in _numbers(elements, slicing, part):
        block_counts = count_values(values)
        for name in _KINDS:
            counts[name] += int(block_counts[name])
        moments.add(_finite(values))
        in_range += _count_in(values, low, high) if has_range else 0
    return {
        "size": slicing.size,
        "counts": _of_bool(counts) if elements.kind.kind == "b" else counts,
        **(_NOTHING if not moments.count else _described(elements, slicing, moments, bins, part)),
        "in_range": in_range if has_range else None,
    }


_NOTHING: Json = {"min": None, "max": None, "mean": None, "std": None, "histogram": None}


def _numbers(elements: StoredElements, slicing: Slicing, part: str) -> Iterator[Array]:
    return (real_numbers(block, part) for block in blocks(elements, slicing))


def _finite(values: Array) -> Array:
    return values[np.isfinite(values)] if values.dtype.kind == "f" else values


def _count_in(values: Array, low: float | None, high: float | None) -> int:
    # Without an end, infinity is the end. A comparison with NaN is false.
    above = values >= (-math.inf if low is None else low)
    return int(np.count_nonzero(above & (values <= (math.inf if high is None else high))))


def _of_bool(counts: dict[str, int]) -> dict[str, int]:
    return {"false": counts["zero"], "true": counts["positive"]}


def _described(elements: StoredElements, slicing: Slicing, moments: _Moments, bins: int, part: str) -> Json:
    edges = _edges(moments, bins)
    counts = np.zeros(bins, np.int64)
    for values in _numbers(elements, slicing, part):
        counts += np.histogram(_finite(values).astype(np.float64), edges)[0]
    return {
        "min": moments.min,
        "max": moments.max,
        "mean": finite(moments.mean),
        "std": finite(moments.std),
        "histogram": {"edges": edges.tolist(), "counts": counts.tolist()},
    }


def _edges(moments: _Moments, bins: int) -> Array:
    low, high = moments.min, moments.max
    if low == high:
        # Equal elements stand in the middle bin of a range around them.
        width = abs(low) / 2 or 0.5
        low, high = max(low - width, -_LARGEST), min(high + width, _LARGEST)
    # Halves, so that the difference of two large numbers does not overflow.
    steps = np.arange(bins + 1) / bins
    edges = low * (1 - steps) + high * steps
    edges[0], edges[-1] = low, high
    return edges


_LARGEST = float(np.finfo(np.float64).max)
