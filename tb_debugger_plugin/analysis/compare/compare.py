"""Compares two runs of nearly the same program, and finds where they part.

Takes two snapshots, which may be of different processes, dtypes and devices. Returns a :class:`Comparison`.
Invariant: what is not on record in both runs is not judged, and the notes say so.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np

from tb_debugger_plugin.analysis.compare.alignment import Alignment, Pair, align
from tb_debugger_plugin.analysis.compare.changes import changes
from tb_debugger_plugin.analysis.compare.comparison import Change, Comparison, Side, TensorDifference, side_of
from tb_debugger_plugin.analysis.compare.elements import recorded
from tb_debugger_plugin.analysis.compare.first import Telling
from tb_debugger_plugin.analysis.compare.measuring import Job, Measured, Settings, measure
from tb_debugger_plugin.analysis.compare.outline import Node, Outline, outline
from tb_debugger_plugin.analysis.compare.places import PlacePair, Places, paired_places, places
from tb_debugger_plugin.analysis.compare.search import Search, finite
from tb_debugger_plugin.analysis.compare.tolerance import depths
from tb_debugger_plugin.analysis.compare.whole import with_elements
from tb_debugger_plugin.analysis.graph.graph_calls import graph_calls
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.status import status
from tb_debugger_plugin.events.dtypes import dtype_name

#: Ops whose results are of the moment, so that two runs never agree.
_OF_THE_MOMENT: Final = frozenset({"Timestamp"})
_LOOPS: Final = frozenset({"While", "StatelessWhile"})
_MOST_TENSORS: Final = 500
_MOST_CHANGES: Final = 200
_DEFAULT: Final = Settings()


def compare(first: Snapshot, second: Snapshot, settings: Settings = _DEFAULT) -> Comparison:
    """Compares two runs.

    Args:
      first: The run whose order of time counts.
      second: The other run.
      settings: How to compare.
    """
    return _Comparing(first, second, settings).result()


class _Comparing:
    """One comparison; lives as long as it."""

    def __init__(self, first: Snapshot, second: Snapshot, settings: Settings) -> None:
        self._first, self._second = first, second
        self._outlines = outline(first), outline(second)
        self._alignment: Alignment = align(*self._outlines)
        here, there = (places(run, made) for run, made in zip((first, second), self._outlines, strict=True))
        pairs = [pair for pair in self._alignment.pairs if pair.first.type not in _OF_THE_MOMENT]
        self._places: list[PlacePair] = paired_places(pairs, here, there)
        self._all_places = here, there
        self._statuses = status(first), status(second)
        self._job = self._make_job(here, settings)

    def _make_job(self, here: Places, settings: Settings) -> Job:
        made = self._outlines[0]
        sizes = {key: max(one.size for one in found) for key, found in here.items()}
        ring = any(facts["circular_buffer_size"] for facts in self._statuses)
        unordered = _unordered(self._first, made)
        return Job(self._first, self._second, depths(made, sizes), unordered, ring, settings)

    def result(self) -> Comparison:
        measured = with_elements(self._job, measure(self._job, self._places))
        search = Search(self._first, self._outlines[0], measured)
        found = search.found()
        differing = sorted(
            (one for one in measured if one.material >= 0), key=lambda one: (one.time, one.place.number)
        )
        changed = self._changes(measured)
        first = None
        if found is not None:
            known = {(one.place.first.node, one.place.slot) for one in measured if one.is_known}
            telling = Telling(self._alignment, self._outlines, self._job, known, self.tensor)
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
        self, one: Measured, nth: int, search: Search | None = None, inherited: float | None = None
    ) -> TensorDifference:
        """Describes the difference of a tensor at an occurrence."""
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

    def side(self, which: int, node: Node, slot: int, index: int | None) -> Side:
        """Describes an output of a node of a run, at a position or without one."""
        run = (self._first, self._second)[which]
        graph = self._outlines[which].groups[node.group].graph
        described = run.catalog.graphs[graph] if graph >= 0 else None
        known: dict[str, Any] = {}
        if index is not None:
            known["execution_index" if node.is_eager else "graph_execution_index"] = index
            known["summary"] = recorded(run, index, slot, eager=node.is_eager).to_json()["health"]
        graph_id, name = (None, None) if described is None else (described.graph_id, described.name)
        return side_of(node, slot, graph_id, name, **known)

    def _changes(self, measured: list[Measured]) -> list[Change]:
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

    def _notes(self, measured: list[Measured]) -> list[str]:
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
            notes.append("A circular buffer dropped the beginning: the last occurrences were compared.")
        unknown = sum(not one.is_known for one in measured)
        if unknown:
            notes.append(f"{unknown} tensors have no numbers in common in some or all occurrences.")
        uneven = sum(one.place.first.count != one.place.second.count for one in measured)
        if uneven:
            notes.append(
                f"{uneven} tensors were computed more often in one run: the common part was compared."
            )
        return notes


def _unordered(snapshot: Snapshot, made: Outline) -> frozenset[int]:
    """The nodes whose occurrences may change places: of loops, and of graphs that several threads run."""
    callers = snapshot.rows(
        "SELECT graph FROM executions WHERE graph >= 0 GROUP BY graph HAVING count(DISTINCT thread) > 1"
    )
    shared = {graph for (graph,) in callers}
    ops = snapshot.catalog.ops
    for op, called in graph_calls(snapshot).graphs.items():
        if ops[op].type in _LOOPS:
            shared |= {graph for graph, _ in called}
    # What a shared graph calls runs in its threads, too.
    more = True
    while more:
        before = len(shared)
        for op, called in graph_calls(snapshot).graphs.items():
            if ops[op].graph in shared:
                shared |= {graph for graph, _ in called}
        more = len(shared) > before
    groups = {group.number for group in made.groups if group.graph in shared}
    return frozenset(node.number for node in made.nodes if node.group in groups)


def _headline(first: str | None, changed: list[Change], measured: list[Measured]) -> str:
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


def _what(first: dict[str, Any] | None, second: dict[str, Any] | None) -> str:
    """What differs most, in words, such as ``mean 0.5, not 0.7``."""
    if first is None or second is None:
        return "the values differ"
    if _is_known(first["shape"]) and _is_known(second["shape"]) and first["shape"] != second["shape"]:
        return f"shape {first['shape']} and {second['shape']}"
    for name in ("nan", "pos_inf", "neg_inf"):
        if first[name] != second[name] and None not in (first[name], second[name]):
            return f"{name} {first[name]:.0f} and {second[name]:.0f}"
    best = ("the values differ", 0.0)
    for name in ("mean", "min", "max", "variance", "positive", "zero", "negative"):
        a, b = first[name], second[name]
        if a is not None and b is not None and a != b:
            apart = abs(a - b) / max(abs(a), abs(b))
            best = max(best, (f"{name} {a:.6g} and {b:.6g}", apart), key=lambda entry: entry[1])
    return best[0]
