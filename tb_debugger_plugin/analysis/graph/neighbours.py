"""Finds the ops around an op, some hops in either direction, across function calls.

Takes an op and a number of hops. Returns ops and the tensors between them, each op with its health. An
argument of a function gets its tensor from an input of the op that calls the function. A consumer of the
call's result gets it from the ops at the end of the function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.graph.graph_calls import graph_calls
from tb_debugger_plugin.analysis.graph.graphs import find_op
from tb_debugger_plugin.analysis.snapshot import Snapshot, check_index
from tb_debugger_plugin.analysis.values.nearest_value import Side, health_of, nearest_traces
from tb_debugger_plugin.events.tensorflow_names import ARGUMENTS

MAX_HOPS: Final = 16
MAX_OPS: Final = 1000
_MAX_SLOTS: Final = 32


@dataclass(frozen=True)
class Edge:
    """A tensor between two ops.

    Attributes:
      source, source_slot: The op that makes it.
      target, input_slot: The op that takes it.
      call: ``into`` a function, ``out`` of one, or None inside a graph.
    """

    source: int
    source_slot: int
    target: int
    input_slot: int
    call: str | None = None


@dataclass(frozen=True)
class _Walk:
    """What was found in one direction.

    Attributes:
      distances: The number of hops to each op, in the order in which they were found.
      edges: The tensors on the way, also those to ops that were left out.
      is_cut: Whether ops were left out.
    """

    distances: dict[int, int]
    edges: list[Edge]
    is_cut: bool


def neighbours(
    snapshot: Snapshot, graph_id: str, op_name: str, *, hops: int, limit: int, at: int | None = None
) -> dict[str, Any]:
    """Return the ops within some hops of an op.

    Args:
      snapshot: The run.
      graph_id: The id of the op's graph.
      op_name: The name of the op.
      hops: The greatest distance.
      limit: The largest number of ops; the nearest ones are kept.
      at: The position in the list of graph executions at which health is reported; None = the end.

    Returns:
      ``ops``, ``edges`` between them, and whether the list is ``truncated``.

    Raises:
      BadQueryError: There is no such position.
      NotFoundError: There is no such graph, or no such op in it.
    """
    if at is not None:
        check_index(at, snapshot.num_graph_executions, "graph execution")
    start = find_op(snapshot, graph_id, op_name).number
    before = _walk(snapshot, start, hops, limit, backward=True)
    room = max(1, limit - len(before.distances) + 1)
    after = _walk(snapshot, start, hops, room, backward=False)
    distances = _signed_distances(before, after)
    return {
        "ops": _op_objects(snapshot, distances, at),
        "edges": _edge_objects([*before.edges, *after.edges], list(distances)),
        "truncated": before.is_cut or after.is_cut,
    }


def _signed_distances(before: _Walk, after: _Walk) -> dict[int, int]:
    """Return the distance of each op, below 0 for the ops before; an op in both walks is before."""
    distances = {op: -steps for op, steps in before.distances.items()}
    for op, steps in after.distances.items():
        distances.setdefault(op, steps)
    return distances


def _edge_objects(edges: Iterable[Edge], ops: Sequence[int]) -> list[dict[str, Any]]:
    """Return the edges between some ops, each once and in order."""
    index_of = {op: index for index, op in enumerate(ops)}
    inside = {edge for edge in edges if edge.source in index_of and edge.target in index_of}
    ordered = sorted(inside, key=lambda e: (e.source, e.source_slot, e.target, e.input_slot, e.call or ""))
    return [_edge_object(edge, index_of) for edge in ordered]


def _edge_object(edge: Edge, index_of: Mapping[int, int]) -> dict[str, Any]:
    return {
        "source": index_of[edge.source],
        "output_slot": edge.source_slot,
        "target": index_of[edge.target],
        "input_slot": edge.input_slot,
        "call": edge.call,
    }


def _walk(snapshot: Snapshot, start: int, hops: int, limit: int, *, backward: bool) -> _Walk:
    distances = {start: 0}
    edges: list[Edge] = []
    front = [start]
    for steps in range(1, hops + 1):
        if not front:
            break
        step = _inputs(snapshot, front) if backward else _consumers(snapshot, front)
        edges += step
        next_ops = dict.fromkeys(edge.source if backward else edge.target for edge in step)
        front = [op for op in next_ops if op not in distances]
        room = limit - len(distances)
        distances.update(dict.fromkeys(front[:room], steps))
        if len(front) > room:
            return _Walk(distances, edges, True)
    return _Walk(distances, edges, False)


def _inputs(snapshot: Snapshot, ops: list[int]) -> list[Edge]:
    rows = snapshot.rows(
        "SELECT source_op, source_slot, op, input_slot FROM edges WHERE op IN (SELECT unnest(?))"
        " ORDER BY op, input_slot",
        [ops],
    )
    known = graph_calls(snapshot)
    edges = []
    for edge in (Edge(*row) for row in rows):
        ends = _ends_inside(snapshot, edge.source) if edge.source in known.graphs else []
        edges += [Edge(end, 0, edge.target, edge.input_slot, "out") for end in ends] or [edge]
        edges += [edge] if ends else []
    return edges + [edge for op in ops for edge in _from_callers(snapshot, snapshot.catalog.ops[op])]


def _consumers(snapshot: Snapshot, ops: list[int]) -> list[Edge]:
    rows = snapshot.rows(
        "SELECT source_op, source_slot, op, input_slot FROM edges WHERE source_op IN (SELECT unnest(?))"
        " ORDER BY op, input_slot",
        [ops],
    )
    known = graph_calls(snapshot)
    edges = [Edge(*row) for row in rows]
    inside = [
        Edge(edge.source, edge.source_slot, argument, edge.input_slot, "into")
        for edge in edges
        for graph, first in known.graphs.get(edge.target, ())
        for argument in _arguments(snapshot, graph)[edge.input_slot - first :][:1]
        if edge.input_slot >= first
    ]
    taken = {edge.source for edge in edges}
    outside = [
        edge for op in ops if op not in taken for edge in _to_callers(snapshot, snapshot.catalog.ops[op])
    ]
    return edges + inside + outside


def _from_callers(snapshot: Snapshot, op: Op) -> list[Edge]:
    """Return the edges into an argument of a function, from the inputs of the ops that call it."""
    if op.type not in ARGUMENTS:
        return []
    known = graph_calls(snapshot)
    argument = _arguments(snapshot, op.graph).index(op.number)
    caller_inputs = [
        (caller, argument + first)
        for caller in known.callers.get(op.graph, ())
        for graph, first in known.graphs[caller]
        if graph == op.graph
    ]
    return [
        Edge(source, slot, op.number, 0, "into")
        for caller, input_slot in caller_inputs
        for source, slot in snapshot.rows(
            "SELECT source_op, source_slot FROM edges WHERE op = ? AND input_slot = ?", [caller, input_slot]
        )
    ]


def _to_callers(snapshot: Snapshot, op: Op) -> list[Edge]:
    """Return the edges from an op at the end of a function to the ops that call it."""
    return [
        Edge(op.number, 0, caller, 0, "out") for caller in graph_calls(snapshot).callers.get(op.graph, ())
    ]


def _arguments(snapshot: Snapshot, graph: int) -> list[int]:
    return [op.number for op in _graph_ops(snapshot).get(graph, ()) if op.type in ARGUMENTS]


def _graph_ops(snapshot: Snapshot) -> dict[int, list[Op]]:
    return snapshot.remember_of_graphs("graph_ops", lambda: _group(snapshot.catalog.ops))


def _group(ops: Iterable[Op]) -> dict[int, list[Op]]:
    groups: dict[int, list[Op]] = {}
    for op in ops:
        groups.setdefault(op.graph, []).append(op)
    return groups


def _ends_inside(snapshot: Snapshot, caller: int) -> list[int]:
    graphs = [graph for graph, _ in graph_calls(snapshot).graphs[caller]]
    return [
        op
        for (op,) in snapshot.rows(
            "SELECT op FROM ops WHERE graph IN (SELECT unnest(?)) AND op IN (SELECT op FROM edges)"
            " AND op NOT IN (SELECT source_op FROM edges) ORDER BY op",
            [graphs],
        )
    ]


def _op_objects(snapshot: Snapshot, distance: dict[int, int], at: int | None) -> list[dict[str, Any]]:
    slots = {op: _slots(snapshot, op) for op in distance}
    tensors = [
        (op, slot, Side.NEAREST if not steps else Side.BEFORE if steps < 0 else Side.AFTER)
        for op, steps in distance.items()
        for slot in slots[op]
    ]
    traces = nearest_traces(snapshot, tensors, at)
    healths = health_of(snapshot, traces.values())
    health = {(op, slot): healths.get(index) for (op, slot, _), index in traces.items()}
    return [
        {
            **_op_object(snapshot, snapshot.catalog.ops[op]),
            "distance": steps,
            "outputs": [
                {
                    "gradient_of": snapshot.catalog.gradients.get((op, slot), []),
                    "health": health.get((op, slot)),
                }
                for slot in slots[op]
            ],
        }
        for op, steps in distance.items()
    ]


def _slots(snapshot: Snapshot, op: int) -> range:
    recorded = [site.slot + 1 for site in snapshot.catalog.op_sites.get(op, ())]
    return range(min(_MAX_SLOTS, max([snapshot.catalog.ops[op].num_outputs or 0, *recorded])))


def _op_object(snapshot: Snapshot, op: Op) -> dict[str, Any]:
    graph = snapshot.catalog.graphs[op.graph]
    return {
        "graph_id": graph.graph_id,
        "graph_name": graph.name,
        "op_name": op.name,
        "op_type": op.type,
        "device_name": op.device,
        "layer": op.layer,
        "variable": op.variable,
    }
