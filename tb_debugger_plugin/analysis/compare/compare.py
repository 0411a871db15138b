"""Compares two runs of nearly the same program, and finds where they part.

Takes two snapshots, which may be of different processes, dtypes and devices. Returns a :class:`Comparison`.
Invariant: what is not on record in both runs is not judged, and the notes say so.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from tb_debugger_plugin.analysis.compare.alignment import Alignment, Pair
from tb_debugger_plugin.analysis.compare.comparison import (
    ComparedSide,
    Comparison,
    ProgramChange,
    TensorDifference,
)
from tb_debugger_plugin.analysis.compare.elements import element_difference, recorded
from tb_debugger_plugin.analysis.compare.first import FirstTelling
from tb_debugger_plugin.analysis.compare.measuring import (
    ComparisonJob,
    ComparisonSettings,
    MeasuredPair,
    measure,
)
from tb_debugger_plugin.analysis.compare.outline import Node
from tb_debugger_plugin.analysis.compare.prepared import prepared, side_at
from tb_debugger_plugin.analysis.compare.search import DifferenceSearch
from tb_debugger_plugin.analysis.lists.missing import keeping_all
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.status import status
from tb_debugger_plugin.analysis.values.health import HealthJson, finite
from tb_debugger_plugin.events.dtypes import dtype_name

# Compares elements where both runs hold whole tensors and the summaries agree.
#
# A summary does not change when elements change places. A bounded number of tensors is read.

#: What is said of a run from which something was dropped, by the argument that keeps it.
_CUT: Final = {
    "circular_buffer_size=-1": "A circular buffer dropped the beginning: the last occurrences were compared.",
    "max_bytes=None": (
        "A run had reached max_bytes and has a gap: the last occurrences were compared. Record with"
        " max_bytes=None to keep all."
    ),
}
#: Tensors that are read, and occurrences of each.
_MOST: Final = 2000
_OCCURRENCES: Final = 20


def with_elements(job: ComparisonJob, measured: Sequence[MeasuredPair]) -> list[MeasuredPair]:
    """Return what was measured, with the differences of elements where they are larger."""
    left = _MOST
    result = []
    for one in measured:
        if one.is_whole and one.material < 0 and left > 0 and one.place.first.node not in job.unordered:
            left -= min(_OCCURRENCES, len(one.first))
            result.append(_refined(job, one))
        else:
            result.append(one)
    return result


def _refined(job: ComparisonJob, one: MeasuredPair) -> MeasuredPair:
    eager = bool(one.place.first.keys)
    relative = one.relative.copy()
    for nth in range(min(_OCCURRENCES, len(one.first))):
        first = recorded(job.first, int(one.first[nth]), one.place.slot, eager=eager)
        second = recorded(job.second, int(one.second[nth]), one.place.slot, eager=eager)
        found = element_difference(first, second)
        if found is not None and found["num_different"]:
            largest = math.inf if found["max_relative"] is None else found["max_relative"]
            relative[nth] = np.fmax(relative[nth], np.float32(largest))
            if relative[nth] > one.tolerance[nth]:
                time = first.wall_time
                local = (one.local, one.local_time) if one.local >= 0 else (nth, time)
                return replace(
                    *(one,),
                    relative=relative,
                    material=nth,
                    time=time,
                    local=local[0],
                    local_time=local[1],
                    any_time=min(one.any_time, time),
                )
    return one


#: Types of ops that only carry constants, arguments or order.
_PLUMBING: Final = frozenset("NoOp Const Placeholder _Arg Arg Identity _Retval Retval".split())

Sides = tuple[Callable[[Node], ComparedSide], Callable[[Node], ComparedSide]]


def changes(
    alignment: Alignment, sides: Sides, dtypes: Callable[[Pair], tuple[str, str] | None]
) -> list[ProgramChange]:
    """Return the changes in the order of the first program, and those of the second after them.

    Args:
      alignment: The pairs.
      sides: Describes a node of the first and of the second run.
      dtypes: The dtypes of the outputs of a pair, where they are known and differ.
    """
    here, there = sides
    found = [
        ProgramChange(kind, here(pair.first), there(pair.second), words)
        for pair in alignment.pairs
        for kind, words in _of_pair(pair, dtypes(pair))
    ]
    gone = [
        ProgramChange("only_first", here(node), None, f"{node.type} is only in the first run")
        for node in alignment.only_first
        if node.type not in _PLUMBING
    ]
    added = [
        ProgramChange("only_second", None, there(node), f"{node.type} is only in the second run")
        for node in alignment.only_second
        if node.type not in _PLUMBING
    ]
    return [*found, *gone, *added]


def _of_pair(pair: Pair, dtypes: tuple[str, str] | None) -> Iterator[tuple[str, str]]:
    first, second = pair.first, pair.second
    if first.type != second.type:
        yield "op", f"{first.type} became {second.type}"
    elif first.constant != second.constant:
        yield "constant", f"{first.constant} became {second.constant}"
    elif dtypes is not None:
        yield "dtype", f"{dtypes[0]} became {dtypes[1]}"


_MOST_TENSORS: Final = 500
_MOST_CHANGES: Final = 200
_DEFAULT: Final = ComparisonSettings()


def compare(first: Snapshot, second: Snapshot, settings: ComparisonSettings = _DEFAULT) -> Comparison:
    """Compare two runs.

    Args:
      first: The run whose order of time counts.
      second: The other run.
      settings: How to compare.
    """
    return _Comparing(first, second, settings).result()


class _Comparing:
    """One comparison; lives as long as it."""

    def __init__(self, first: Snapshot, second: Snapshot, settings: ComparisonSettings) -> None:
        self._first, self._second = first, second
        ground = prepared(first, second)
        self._outlines, self._alignment = ground.outlines, ground.alignment
        self._places, self._all_places = ground.pairs, ground.places
        self._statuses = status(first), status(second)
        self._job = ground.job(first, second, settings)

    def result(self) -> Comparison:
        measured = with_elements(self._job, measure(self._job, self._places))
        search = DifferenceSearch(self._first, self._outlines[0], measured)
        found = search.found()
        differing = sorted(
            (one for one in measured if one.material >= 0), key=lambda one: (one.time, one.place.number)
        )
        changed = self._changes(measured)
        first = None
        if found is not None:
            known = {(one.place.first.node, one.place.slot) for one in measured if one.is_known}
            telling = FirstTelling(self._alignment, self._outlines, self._job, known, self.tensor)
            first = telling.first(found)
        tensors = [self.tensor(one, one.material, search) for one in differing[:_MOST_TENSORS]]
        return Comparison(
            first,
            _headline(first.headline if first else None, changed, measured),
            tensors,
            len(differing),
            changed[:_MOST_CHANGES],
            len(changed),
            sum(len(one.first) for one in measured),
            len(measured),
            self._notes(measured),
        )

    def tensor(
        self,
        one: MeasuredPair,
        nth: int,
        search: DifferenceSearch | None = None,
        inherited: float | None = None,
    ) -> TensorDifference:
        """Describe the difference of a tensor at an occurrence."""
        if search is not None:
            inherited = search.candidate(one, nth).inherited
        slot, pair = one.place.slot, one.place.pair
        sides = [
            self.side(which, node, slot, int(positions[nth]))
            for which, node, positions in ((0, pair.first, one.first), (1, pair.second, one.second))
        ]
        return TensorDifference(
            *(sides[0], sides[1], pair.how, nth),
            finite(float(one.relative[nth])),
            finite(float(np.fmax.reduce(one.relative))),
            *(float(one.tolerance[nth]), len(one.first), inherited),
            _what(sides[0].summary, sides[1].summary),
        )

    def side(self, which: int, node: Node, slot: int, index: int | None) -> ComparedSide:
        """Describe an output of a node of a run, at a position or without one."""
        return side_at((self._first, self._second)[which], self._outlines[which], node, slot, index)

    def _changes(self, measured: list[MeasuredPair]) -> list[ProgramChange]:
        statics = self._first.catalog.statics, self._second.catalog.statics

        def dtypes(pair: Pair) -> tuple[str, str] | None:
            known = [
                table.get((node.op, 0))
                for table, node in zip(statics, (pair.first, pair.second), strict=True)
            ]
            numbers = [0 if one is None else one.dtype % 100 for one in known]
            if 0 in numbers or numbers[0] == numbers[1]:
                return None
            return str(dtype_name(numbers[0])), str(dtype_name(numbers[1]))

        sides = (lambda node: self.side(0, node, 0, None)), (lambda node: self.side(1, node, 0, None))
        return changes(self._alignment, sides, dtypes)

    def _notes(self, measured: list[MeasuredPair]) -> list[str]:
        notes = []
        for which, name in enumerate(("first", "second")):
            compared = {((one.place.first, one.place.second)[which].node, one.place.slot) for one in measured}
            left = [key for key in self._all_places[which] if key not in compared]
            if left:
                kinds = Counter(self._outlines[which].nodes[node].type for node, _ in left)
                listed = ", ".join(kind for kind, _ in kinds.most_common(5))
                notes.append(
                    f"{len(left)} tensors are on record only in the {name} run ({listed}): not compared."
                )
            if self._statuses[which]["loading"] is not None:
                notes.append(f"The {name} run is still being read: what was read until now was compared.")
            for entry in self._statuses[which]["not_recorded"]:
                notes.append(f"The {name} run does not hold everything: {entry['message']}")
        modes = [facts["tensor_debug_mode"] for facts in self._statuses]
        if modes[0] != modes[1]:
            notes.append(
                f"The runs are in modes {modes[0]} and {modes[1]}: only what both record is compared."
            )
        elif modes[0] not in ("FULL_NUMERICS", "FULL_TENSOR"):
            notes.append(
                f"Mode {modes[0]} records no minimum, maximum and mean: a difference that changes only those"
                ' is not seen. Record both runs in mode "FULL_NUMERICS".'
            )
        if self._job.from_end:
            keeping = [keeping_all(one) for one in (self._first, self._second)]
            notes += [_CUT[argument] for argument in dict.fromkeys(keeping) if argument]
        unknown = sum(not one.is_known for one in measured)
        if unknown:
            notes.append(f"{unknown} tensors have no numbers in common in some or all occurrences.")
        uneven = sum(one.place.first.count != one.place.second.count for one in measured)
        if uneven:
            notes.append(
                f"{uneven} tensors were computed more often in one run: the common part was compared."
            )
        return notes


def _headline(first: str | None, changed: list[ProgramChange], measured: list[MeasuredPair]) -> str:
    if first is not None:
        return first
    if not measured:
        return "The runs have no tensor in common on record."
    if changed:
        return f"No tensor differs materially, but the programs do: {changed[0].words}."
    grown = sum(one.material >= 0 for one in measured)
    if grown:
        return f"The runs agree: rounding grew in {grown} tensors, and no op made a difference."
    return "The runs agree: no tensor differs materially."


def _is_known(shape: list[int | None] | None) -> bool:
    return shape is not None and None not in shape


#: What is compared of the summaries of two values: counts first, then the measure that differs most.
_COUNTS: Final[dict[Literal["nan", "pos_inf", "neg_inf"], str]] = {
    "nan": "NaN",
    "pos_inf": "+∞",
    "neg_inf": "−∞",
}
_Measure: TypeAlias = Literal["mean", "min", "max", "variance", "positive", "zero", "negative"]
_MEASURES: Final[tuple[_Measure, ...]] = get_args(_Measure)


def _what(first: HealthJson | None, second: HealthJson | None) -> str:
    """Return what differs most, in words, such as ``mean 0.5, not 0.7``."""
    if first is None or second is None:
        return "the values differ"
    if _is_known(first["shape"]) and _is_known(second["shape"]) and first["shape"] != second["shape"]:
        return f"shape {first['shape']} and {second['shape']}"
    for count, sign in _COUNTS.items():
        a, b = first[count], second[count]
        if a is not None and b is not None and a != b:
            return f"{a:.0f} {sign} and {b:.0f}"
    best = ("the values differ", 0.0)
    for name in _MEASURES:
        a, b = first[name], second[name]
        if a is not None and b is not None and a != b:
            apart = abs(a - b) / max(abs(a), abs(b))
            best = max(best, (f"{name} {a:.6g} and {b:.6g}", apart), key=lambda entry: entry[1])
    return best[0]
