"""Which graph an op of another graph runs: calls, branches and loops.

In comes a run, out come pairs of an op and a graph. Our recorder writes them down. TensorFlow's does not, but
says in whose making a graph was made, and names what belongs to a loop or a branch after its op.

Rule: where it is not written down and more than one graph could be meant, none is named; a wrong edge would
be worse than a missing one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.view import View

#: Ops that stand for an argument of their graph, in the order of the arguments.
ARGUMENTS: Final = frozenset({"Placeholder", "_Arg", "Arg"})
_CALLS: Final = frozenset({"PartitionedCall", "StatefulPartitionedCall", "RemoteCall", "SymbolicGradient"})
_LOOPS: Final = frozenset({"While", "StatelessWhile"})
_BRANCHES: Final = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
_NUMBER: Final = re.compile(r"^(.*)_\d+$")
_BACKWARD: Final = "__backward_"


@dataclass(frozen=True)
class Calls:
    """Ops and the graphs that they run.

    Attributes:
      graphs: By number of the op, the graphs, and which input of the op is their first argument.
      callers: By number of the graph, the ops.
    """

    graphs: dict[int, list[tuple[int, int]]]
    callers: dict[int, list[int]]


def calls(view: View) -> Calls:
    """All calls that are known for certain."""
    return view.remember("calls_in_graphs", lambda: _calls(view))


def _calls(view: View) -> Calls:
    catalog = view.catalog
    inner: dict[int, list[int]] = defaultdict(list)
    for graph in catalog.graphs:
        # A backward graph is made inside its forward graph, but run by whoever runs that.
        outer = catalog.ancestry(graph.number)[:-1][::-1]
        if outer:
            inner[outer[0]].append(graph.number)
            if len(outer) > 1 and (graph.name or "").startswith(_BACKWARD):
                inner[outer[1]].append(graph.number)
    arguments = _counts(op.graph for op in catalog.ops if op.type in ARGUMENTS)
    inputs = dict(view.rows("SELECT op, count(*) FROM edges GROUP BY op"))
    graphs: dict[int, list[tuple[int, int]]] = {}
    callers: dict[int, list[int]] = defaultdict(list)
    for op in catalog.ops:
        found = _recorded(view, op)
        if found is None:
            found = _graphs_of(view, op, inner.get(op.graph, []), inputs.get(op.number, 0), arguments)
        if found:
            graphs[op.number] = found
        for graph_number, _ in found:
            callers[graph_number].append(op.number)
    return Calls(graphs, dict(callers))


def _recorded(view: View, op: Op) -> list[tuple[int, int]] | None:
    """What the recorder wrote down; None when it wrote nothing."""
    graphs = view.catalog.op_graphs.get(op.number)
    if graphs is None:
        return None
    if op.type not in _CALLS | _LOOPS | _BRANCHES:
        return []  # it hands its functions something else than its inputs: one of data sets, elements
    return [(graph, int(op.type in _BRANCHES)) for graph in dict.fromkeys(graphs)]


def _counts(numbers: Iterable[int]) -> dict[int, int]:
    found: dict[int, int] = defaultdict(int)
    for number in numbers:
        found[number] += 1
    return found


def _graphs_of(
    view: View, op: Op, inner: list[int], num_inputs: int, arguments: dict[int, int]
) -> list[tuple[int, int]]:
    graphs = view.catalog.graphs
    named = [number for number in inner if graphs[number].name and graphs[number].name == op.type]
    if len(named) == 1:
        return [(named[0], 0)]
    if op.type in _LOOPS:
        return [(number, 0) for number in _parts(view, op, inner, ("body", "cond"))]
    if op.type in _BRANCHES:
        # The first input says which branch is taken.
        parts = _parts(view, op, inner, ("true", "false", *(f"branch{n}" for n in range(16))))
        return [(number, 1) for number in parts]
    if op.type not in _CALLS:
        return []
    of_loops = re.compile(r"_(body|cond|true|false|branch\d+)_\d+$")
    fitting = [
        number
        for number in inner
        if arguments.get(number, 0) == num_inputs and not of_loops.search(graphs[number].name or "")
    ]
    return [(fitting[0], 0)] if len(fitting) == 1 else []


def _parts(view: View, op: Op, inner: list[int], words: tuple[str, ...]) -> list[int]:
    """Graphs that TensorFlow named after the op: ``a/while`` has ``a_while_body_12``."""
    scope = op.name.replace("/", "_")
    found: dict[str, list[int]] = defaultdict(list)
    for number in inner:
        match = _NUMBER.match(view.catalog.graphs[number].name or "")
        if match and match[1] in {f"{scope}_{word}" for word in words}:
            found[match[1]].append(number)
    return [numbers[0] for numbers in found.values() if len(numbers) == 1]
