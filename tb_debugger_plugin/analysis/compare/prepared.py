"""What belongs together in two runs: the ground on which tensors are compared.

Takes two snapshots. Returns their outlines, the alignment and the tensors that both have on record. The last
result is kept with the first run until one of the two has another commit.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.analysis.compare.alignment import Alignment, align
from tb_debugger_plugin.analysis.compare.comparison import ComparedSide, side_of
from tb_debugger_plugin.analysis.compare.elements import recorded
from tb_debugger_plugin.analysis.compare.measuring import ComparisonJob, ComparisonSettings
from tb_debugger_plugin.analysis.compare.outline import Node, Outline, outline
from tb_debugger_plugin.analysis.compare.places import PlacePair, Places, paired_places, places
from tb_debugger_plugin.analysis.compare.tolerance import depths
from tb_debugger_plugin.analysis.graph.graph_calls import graph_calls
from tb_debugger_plugin.analysis.graph.op_kinds import LOOPS
from tb_debugger_plugin.analysis.lists.missing import is_cut
from tb_debugger_plugin.analysis.snapshot import Json, Snapshot
from tb_debugger_plugin.events.tensorflow_names import is_of_pipeline


def side_at(run: Snapshot, made: Outline, node: Node, slot: int, index: int | None) -> ComparedSide:
    """Describe an output.

    Args:
      run: The run.
      made: Its outline.
      node: The op, or the eager executions of a line.
      slot: The output.
      index: The position of an occurrence, with whose summary it is described; None for none.
    """
    graph = made.groups[node.group].graph
    described = run.catalog.graphs[graph] if graph >= 0 else None
    known: Json = {}
    if index is not None:
        known["execution_index" if node.is_eager else "graph_execution_index"] = index
        known["summary"] = recorded(run, index, slot, eager=node.is_eager).to_json()["health"]
    graph_id, name = (None, None) if described is None else (described.graph_id, described.name)
    return side_of(node, slot, graph_id, name, known)


#: Ops whose results are of the moment, so that two runs never agree.
_OF_THE_MOMENT: Final = frozenset({"Timestamp"})
_NAME: Final = "prepared comparison"


@dataclass(frozen=True)
class Prepared:
    """What belongs together in two runs.

    Attributes:
      outlines: What each run computed.
      alignment: Which node of one is which of the other.
      places: The tensors of each run.
      pairs: The tensors that both have on record.
      depths: The units of rounding on the path, by node of the first run.
      unordered: The nodes whose occurrences may change places.
      from_end: Whether the last occurrences belong together, since a circular buffer dropped the first.
    """

    outlines: tuple[Outline, Outline]
    alignment: Alignment
    places: tuple[Places, Places]
    pairs: list[PlacePair]
    depths: Sequence[float]
    unordered: frozenset[int]
    from_end: bool

    def job(self, first: Snapshot, second: Snapshot, settings: ComparisonSettings) -> ComparisonJob:
        """Return what is to be compared with what."""
        return ComparisonJob(first, second, self.depths, self.unordered, self.from_end, settings)


def prepared(first: Snapshot, second: Snapshot) -> Prepared:
    """Return what belongs together in two runs."""
    # A weak reference keeps no run alive.
    version = (weakref.ref(second.loader), first.generation, second.generation)
    return first.loader.memory.once(_NAME, version, lambda: _prepare(first, second))


def _prepare(first: Snapshot, second: Snapshot) -> Prepared:
    outlines = outline(first), outline(second)
    alignment = align(*outlines)
    here, there = places(first, outlines[0]), places(second, outlines[1])
    pairs = [pair for pair in alignment.pairs if pair.first.type not in _OF_THE_MOMENT]
    sizes = {key: max(one.size for one in found) for key, found in here.items()}
    return Prepared(
        outlines,
        alignment,
        (here, there),
        paired_places(pairs, here, there),
        depths(outlines[0], sizes),
        _unordered(first, outlines[0]),
        is_cut(first) or is_cut(second),
    )


def _unordered(snapshot: Snapshot, made: Outline) -> frozenset[int]:
    """Return the nodes whose occurrences may change places: of loops, and of graphs that several threads run.

    The threads of an input pipeline are not on record, but its functions are named after it.
    """
    callers = snapshot.rows(
        "SELECT graph FROM executions WHERE graph >= 0 GROUP BY graph HAVING count(DISTINCT thread) > 1"
    )
    shared = {graph for (graph,) in callers}
    shared |= {graph.number for graph in snapshot.catalog.graphs if is_of_pipeline(graph.name or "")}
    ops = snapshot.catalog.ops
    for op, called in graph_calls(snapshot).graphs.items():
        if ops[op].type in LOOPS:
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
