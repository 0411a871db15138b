"""Compares all tensors that two runs have on record, in batches of bounded size.

Takes two snapshots and their paired places. Returns the difference of each occurrence, as an array of which
each place has a part. Where threads or iterations of a loop may change places, a tensor agrees if the two
runs computed the same values in any order. A difference of shape, or of the number of NaN or infinities, is
infinite: no rounding explains it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.compare.places import PlacePair
from tb_debugger_plugin.analysis.compare.rows import PlaceRows, read_rows
from tb_debugger_plugin.analysis.compare.tolerance import OF_AN_OP, roundings, tolerance
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.events.numbers import Array

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


def differences(first: PlaceRows, second: PlaceRows, shapes: npt.NDArray[np.int64]) -> Differences:
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


def _flips(first: PlaceRows, second: PlaceRows, measured: _Flags) -> _Floats:
    """Return the share of elements with another sign; one is free where the numbers are known, too."""
    a, b = first.columns, second.columns
    flips = np.add.reduce([_apart(a[name], b[name]) for name in _SIGNS]) / 2
    flips = np.where(measured, np.maximum(0.0, flips - 1.0), flips)
    return np.asarray(flips / _FLIPS / np.fmax(1.0, a["size"]))


#: Rows of a run that are in memory at once. A single place may have more; what follows is left out.
_BATCH: Final = 500_000
_LONGEST: Final = 2_000_000
_WHOLE: Final = int(TensorDebugMode.FULL_TENSOR)


@dataclass(frozen=True)
class MeasuredPair:
    """The comparison of a tensor.

    Attributes:
      place: What was compared.
      first, second: The positions of the occurrences in the two runs, in their lists.
      relative: The relative differences; infinite where shape, NaN or infinities differ, and
        NaN where the runs have no number in common.
      tolerance: The tolerances.
      unit: The rounding of the coarser dtype, at the first occurrence.
      scale: The largest size of the tensor.
      time: When the first occurrence that differs materially was computed in the first run; infinite if none.
      material: The number of that occurrence; -1 if there is none.
      local: The number of the first one that differs by more than one op may; -1 if there is none.
      local_time: When that was.
      any_time: When the first one that differs at all was.
      size: The number of elements, at the first occurrence.
      is_whole: Whether both runs hold some values whole.
    """

    place: PlacePair
    first: Array
    second: Array
    relative: Array
    tolerance: Array
    unit: float
    scale: float
    time: float
    material: int
    local: int
    local_time: float
    any_time: float
    size: int
    is_whole: bool

    @property
    def is_known(self) -> bool:
        """Whether the runs have numbers of it in common."""
        return not bool(np.isnan(self.relative).any())


@dataclass(frozen=True)
class ComparisonSettings:
    """How runs are compared.

    Attributes:
      tolerance: A relative tolerance; None = from the rounding of the dtype and the path in the graph.
    """

    tolerance: float | None = None

    def __post_init__(self) -> None:
        """Check the tolerance.

        Raises:
          BadQueryError: It is negative or not a finite number.
        """
        if self.tolerance is not None and not 0 <= self.tolerance < math.inf:
            raise BadQueryError(f"tolerance must be a number of at least 0, but is {self.tolerance}.")


@dataclass(frozen=True)
class ComparisonJob:
    """What is compared with what.

    Attributes:
      first, second: The runs.
      depths: The units of rounding on the path, by node of the first run.
      unordered: The nodes whose occurrences may change places.
      from_end: Whether the last occurrences belong together, since a circular buffer dropped the first.
      settings: How they are compared.
    """

    first: Snapshot
    second: Snapshot
    depths: Sequence[float]
    unordered: frozenset[int]
    from_end: bool
    settings: ComparisonSettings


def measure(job: ComparisonJob, wanted: Sequence[PlacePair]) -> list[MeasuredPair]:
    """Compare all occurrences of the places."""
    shapes = shared_shapes(job.first, job.second)
    return [one for batch in _batches(wanted) for one in _batch(job, batch, shapes)]


def _batches(wanted: Sequence[PlacePair]) -> Iterator[list[PlacePair]]:
    batch: list[PlacePair] = []
    rows = 0
    for one in sorted(wanted, key=lambda one: bool(one.first.keys)):
        count = max(one.first.count, one.second.count)
        is_other = batch and bool(batch[0].first.keys) != bool(one.first.keys)
        if batch and (rows + count > _BATCH or is_other):
            yield batch
            batch, rows = [], 0
        batch.append(one)
        rows += count
    if batch:
        yield batch


def shared_shapes(first: Snapshot, second: Snapshot) -> npt.NDArray[np.int64]:
    """Return the number in the first run of each shape of the second one; -2 if it has none such."""
    known = {text: number for number, text in enumerate(first.catalog.shapes)}
    return np.array([known.get(text, -2) for text in second.catalog.shapes], np.int64)


@dataclass(frozen=True)
class Aligned:
    """The occurrences of some tensors that belong together.

    Attributes:
      first, second: As many rows of both runs.
      counts: How many of them each tensor has, in order.
    """

    first: PlaceRows
    second: PlaceRows
    counts: npt.NDArray[np.int64]


def aligned(job: ComparisonJob, batch: Sequence[PlacePair]) -> Aligned:
    """Read the occurrences of tensors that are either all of graphs or all of eager executions."""
    a = read_rows(job.first, [one.first for one in batch], _LONGEST)
    b = read_rows(job.second, [one.second for one in batch], _LONGEST)
    in_a = np.searchsorted(a.place, np.arange(len(batch) + 1))
    in_b = np.searchsorted(b.place, np.arange(len(batch) + 1))
    counts = np.minimum(np.diff(in_a), np.diff(in_b))
    starts_a, starts_b = in_a[:-1], in_b[:-1]
    if job.from_end:
        starts_a, starts_b = in_a[1:] - counts, in_b[1:] - counts
    ends = np.cumsum(counts)
    within = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
    return Aligned(
        a.take(np.repeat(starts_a, counts) + within), b.take(np.repeat(starts_b, counts) + within), counts
    )


def _batch(
    job: ComparisonJob, batch: list[PlacePair], shapes: npt.NDArray[np.int64]
) -> Iterator[MeasuredPair]:
    rows = aligned(job, batch)
    found = differences(rows.first, rows.second, shapes)
    limits = allowed(job, batch, rows.first, found)
    ends = np.cumsum(rows.counts).tolist()
    for one, end, count in zip(batch, ends, rows.counts.tolist(), strict=True):
        part = slice(end - count, end)
        if count:
            yield _measured(job, one, (rows.first, rows.second), found, limits, part, shapes)


def allowed(job: ComparisonJob, batch: Sequence[PlacePair], rows: PlaceRows, found: Differences) -> Array:
    """Return the relative tolerance of each occurrence."""
    if job.settings.tolerance is not None:
        return np.where(found.unit > 0, job.settings.tolerance, 0.0)
    depth = np.array([job.depths[one.first.node] for one in batch])
    return tolerance(found.unit, depth[rows.place], rows.nth)


def _measured(
    job: ComparisonJob,
    one: PlacePair,
    rows: tuple[PlaceRows, PlaceRows],
    found: Differences,
    limits_of_all: Array,
    part: slice,
    shapes: npt.NDArray[np.int64],
) -> MeasuredPair:
    a, b = rows
    relative = found.relative[part]
    limits, times = limits_of_all[part], a.columns["wall_time"][part]
    if one.first.node in job.unordered and (relative > limits).any():
        relative = _in_any_order(a, b, part, shapes, relative, limits)
    local = limits if job.settings.tolerance is not None else OF_AN_OP * found.unit[part]
    material, first_local, first_any = (
        _first(relative > limit) for limit in (limits, np.minimum(limits, local), np.zeros(1))
    )
    return MeasuredPair(
        one,
        a.columns["idx"][part].astype(np.int32),
        b.columns["idx"][part].astype(np.int32),
        relative.astype(np.float32),
        limits.astype(np.float32),
        float(found.unit[part][0]),
        float(found.scale[part].max()),
        _time(times, material),
        material,
        first_local,
        _time(times, first_local),
        _time(times, first_any),
        _whole(a.columns["size"][part.start]),
        bool((a.columns["mode"][part] == _WHOLE).any() and (b.columns["mode"][part] == _WHOLE).any()),
    )


def _whole(size: float) -> int:
    return 0 if np.isnan(size) else int(size)


def _first(flags: npt.NDArray[np.bool_]) -> int:
    return int(flags.argmax()) if flags.any() else -1


def _time(times: Array, position: int) -> float:
    return float(times[position]) if position >= 0 else np.inf


def _in_any_order(
    a: PlaceRows, b: PlaceRows, part: slice, shapes: npt.NDArray[np.int64], relative: Array, limits: Array
) -> Array:
    """Return the differences between values of the same rank; those by order if they are not less."""
    positions = np.arange(part.start, part.stop)
    keys = ("variance", "size", "positive", "max", "min", "mean")
    first, second = (
        rows.take(positions[np.lexsort([np.nan_to_num(rows.columns[name][part]) for name in keys])])
        for rows in (a, b)
    )
    found = differences(first, second, shapes)
    return np.minimum(relative, limits) if not (found.relative > limits.max()).any() else relative
