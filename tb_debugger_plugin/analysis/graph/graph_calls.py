"""Finds the graphs that ops of other graphs run: calls, branches and loops.

Takes a run and returns pairs of an op and a graph. Our recorder records them. TensorFlow's does not, but it
records in which graph another one was made, and it names the graphs of a loop or a branch after the op.

Invariant: when a call is not recorded and several graphs are possible, there is no pair: a wrong edge is
worse than a missing one.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from tb_debugger_plugin.analysis.catalog import Graph, Op
from tb_debugger_plugin.analysis.graph.op_kinds import BRANCHES, CALLS, LOOPS
from tb_debugger_plugin.analysis.snapshot import Snapshot, remembered
from tb_debugger_plugin.events.tensorflow_names import ARGUMENTS

_MAX_BRANCHES: Final = 16
_NUMBER: Final = re.compile(r"^(.*)_\d+$", re.DOTALL)
_OF_LOOPS: Final = re.compile(r"_(body|cond|true|false|branch\d+)_\d+$")
_BACKWARD: Final = "__backward_"


@dataclass(frozen=True)
class GraphCalls:
    """Ops and the graphs that they run.

    Attributes:
      graphs: By number of the op: the graphs, and the input of the op that is their first argument.
      callers: By number of the graph: the ops.
    """

    graphs: dict[int, list[tuple[int, int]]]
    callers: dict[int, list[int]]


@remembered(Snapshot.remember_of_graphs)
def graph_calls(snapshot: Snapshot) -> GraphCalls:
    """Return all calls that are certain."""
    catalog = snapshot.catalog
    inner = _inner_graphs(snapshot)
    inputs: dict[int, int] = dict(snapshot.rows("SELECT op, count(*) FROM edges GROUP BY op"))
    graphs: dict[int, list[tuple[int, int]]] = {}
    callers: dict[int, list[int]] = defaultdict(list)
    for op in catalog.ops:
        called = _recorded(snapshot, op)
        if called is None:
            called = _graphs_of(op, inner[op.graph], inputs.get(op.number, 0)) if op.graph in inner else []
        if called:
            graphs[op.number] = called
        for graph_number, _ in called:
            callers[graph_number].append(op.number)
    return GraphCalls(graphs, dict(callers))


@dataclass(frozen=True)
class _Inner:
    """The graphs that ops of one graph may run, under several keys.

    Attributes:
      named: By name.
      parts: By name without the number at its end.
      plain: By number of arguments, without those that are part of a loop or branch.
    """

    named: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    parts: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    plain: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, graph: Graph, num_arguments: int) -> None:
        """Add a graph under all keys."""
        name = graph.name or ""
        self.named[name].append(graph.number)
        match = _NUMBER.match(name)
        if match:
            self.parts[match[1]].append(graph.number)
        if not _OF_LOOPS.search(name):
            self.plain[num_arguments].append(graph.number)


def _inner_graphs(snapshot: Snapshot) -> dict[int, _Inner]:
    graphs = snapshot.catalog.graphs
    arguments = Counter(op.graph for op in snapshot.catalog.ops if op.type in ARGUMENTS)
    inner: dict[int, _Inner] = defaultdict(_Inner)
    for graph in graphs:
        around = graphs[graph.outer].outer if graph.outer >= 0 else -1
        if graph.outer not in (-1, graph.number):
            inner[graph.outer].add(graph, arguments[graph.number])
        # A backward graph is made inside its forward graph, but run by the caller of the forward graph.
        is_backward = (graph.name or "").startswith(_BACKWARD)
        if is_backward and around not in (-1, graph.number, graph.outer):
            inner[around].add(graph, arguments[graph.number])
    return inner


def _recorded(snapshot: Snapshot, op: Op) -> list[tuple[int, int]] | None:
    """Return the recorded graphs of an op; None when nothing is recorded."""
    graphs = snapshot.catalog.op_graphs.get(op.number)
    if graphs is None:
        return None
    if op.type not in CALLS | LOOPS | BRANCHES:
        return []  # the arguments are not the op's inputs, but the elements of a data set, for example
    return [(graph, int(op.type in BRANCHES)) for graph in dict.fromkeys(graphs)]


def _graphs_of(op: Op, inner: _Inner, num_inputs: int) -> list[tuple[int, int]]:
    named = inner.named.get(op.type or "", [])
    if op.type and len(named) == 1:
        return [(named[0], 0)]
    if op.type in LOOPS:
        return [(number, 0) for number in _parts(op, inner, ("body", "cond"))]
    if op.type in BRANCHES:
        # The first input selects the branch.
        words = ("true", "false", *(f"branch{n}" for n in range(_MAX_BRANCHES)))
        return [(number, 1) for number in _parts(op, inner, words)]
    if op.type not in CALLS:
        return []
    fitting = inner.plain.get(num_inputs, [])
    return [(fitting[0], 0)] if len(fitting) == 1 else []


def _parts(op: Op, inner: _Inner, words: Iterable[str]) -> list[int]:
    """Return the graphs that TensorFlow named after the op: ``a/while`` has ``a_while_body_12``."""
    scope = op.name.replace("/", "_")
    candidates = [inner.parts.get(f"{scope}_{word}", []) for word in words]
    return sorted(numbers[0] for numbers in candidates if len(numbers) == 1)
