"""Finds the ops around an op, some hops in either direction, across function calls.

Takes an op and a number of hops. Returns ops and the tensors between them, each op with its health. An
argument of a function gets its tensor from an input of the op that calls the function. A consumer of the
call's result gets it from the ops at the end of the function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated, Final, TypedDict

from tb_debugger_plugin.analysis.graph.adjacency import adjacency, after_calls, before_calls, given_to
from tb_debugger_plugin.analysis.graph.graphs import CalledGraphJson, dtype_and_shape, find_op, graphs_run_by
from tb_debugger_plugin.analysis.snapshot import Json, JsonObject, Snapshot, check_index
from tb_debugger_plugin.analysis.values.health import HealthJson
from tb_debugger_plugin.analysis.values.nearest_value import Side, health_of, nearest_traces

MAX_HOPS: Final = 16
MAX_OPS: Final = 1000
_MAX_SLOTS: Final = 32


@dataclass(frozen=True)
class Edge(JsonObject):
    """A tensor between two ops.

    Attributes:
      source, output_slot: The op that makes it, as its position in ``ops`` of an answer.
      target, input_slot: The op that takes it, in the same way.
      call: ``into`` or ``out``: it crosses into or out of a function, loop or branch; None inside a graph.
    """

    source: int
    output_slot: int
    target: int
    input_slot: int
    call: str | None = None


@dataclass(frozen=True)
class NearOutput(JsonObject):
    """An output of an op."""

    dtype: str | None  #: by the graph, otherwise as measured
    shape: list[int | None] | None  #: by the graph, otherwise as measured
    gradient_of: list[str]  #: see [Names](#names)
    health: Annotated[Json, HealthJson] | None  #: its [health](#health)


@dataclass(frozen=True)
class ControlEdge(JsonObject):
    """Two ops of which one waits for the other without taking a tensor."""

    source: int  #: the op that runs first, as its position in ``ops``
    target: int  #: the op that waits for it, in the same way


@dataclass(frozen=True)
class NearOp(JsonObject):
    """An op near another one."""

    graph_id: str  #: its graph
    graph_name: str | None
    op_name: str  #: its name and type
    op_type: str | None
    device_name: str | None  #: device of the op in the graph
    layer: str | None  #: see [Names](#names)
    variable: str | None
    distance: int  #: hops from the op; below 0 on the side of the inputs
    #: the [graphs that the op runs](#graphs-that-an-op-runs): `graph_id` and `graph_name`
    runs: list[Annotated[Json, CalledGraphJson]]
    inputs_left_out: int  #: how many ops it takes tensors from that are not in the answer
    consumers_left_out: int  #: how many ops take tensors of it that are not in the answer
    outputs: list[NearOutput]  #: for each of the first 32 slots


class NeighboursJson(TypedDict):
    """The ops around an op."""

    ops: list[NearOp]  #: the ops, the op itself first
    edges: list[Edge]  #: all tensors between these ops
    control_edges: list[ControlEdge]  #: which of these ops wait for each other
    truncated: bool  #: whether ops within these hops were left out


@dataclass(frozen=True)
class _Walk:
    """What was found in one direction.

    Attributes:
      distances: The number of hops to each op, in the order in which they were found.
      is_cut: Whether ops were left out.
    """

    distances: dict[int, int]
    is_cut: bool

    def nearest(self, most: int) -> _Walk:
        """Return the walk with so many ops at most."""
        if len(self.distances) <= most:
            return self
        return _Walk(dict(islice(self.distances.items(), most)), True)


def neighbours(
    snapshot: Snapshot, graph_id: str, op_name: str, *, hops: int, limit: int, at: int | None = None
) -> NeighboursJson:
    """Return the ops within some hops of an op.

    Args:
      snapshot: The run.
      graph_id: The id of the op's graph.
      op_name: The name of the op.
      hops: The greatest distance.
      limit: The largest number of ops; the nearest ones are kept.
      at: The position in the list of graph executions at which health is reported; None = the end.

    Raises:
      BadQueryError: There is no such position.
      NotFoundError: There is no such graph, or no such op in it.
    """
    if at is not None:
        check_index(at, snapshot.num_graph_executions, "graph execution")
    start = find_op(snapshot, graph_id, op_name).number
    before = _walk(snapshot, start, hops, limit, backward=True)
    after = _walk(snapshot, start, hops, limit, backward=False)
    # A side gets half of the room, and what the other one leaves; the op itself is on both.
    before = before.nearest(max((limit + 1) // 2, limit + 1 - len(after.distances)))
    after = after.nearest(limit + 1 - len(before.distances))
    distances = _signed_distances(before, after)
    ops = list(distances)
    taken, given = _inputs(snapshot, ops), _consumers(snapshot, ops)
    left_out = _left_out(distances, taken, given)
    return {
        "ops": _op_objects(snapshot, distances, left_out, at),
        "edges": _edges_between([*taken, *given], ops),
        "control_edges": _control_edges(snapshot, ops),
        "truncated": before.is_cut or after.is_cut,
    }


def _signed_distances(before: _Walk, after: _Walk) -> dict[int, int]:
    """Return the distance of each op, below 0 for the ops before; an op in both walks is before."""
    distances = {op: -steps for op, steps in before.distances.items()}
    for op, steps in after.distances.items():
        distances.setdefault(op, steps)
    return distances


def _left_out(
    shown: Container[int], taken: Iterable[Edge], given: Iterable[Edge]
) -> tuple[Counter[int], Counter[int]]:
    """Return for each op the number of ops before it, and of those after it, that are not shown."""
    before = {(edge.target, edge.source) for edge in taken if edge.source not in shown}
    after = {(edge.source, edge.target) for edge in given if edge.target not in shown}
    return Counter(op for op, _ in before), Counter(op for op, _ in after)


def _control_edges(snapshot: Snapshot, ops: Sequence[int]) -> list[ControlEdge]:
    """Return which of some ops wait for each other, by their positions."""
    index_of = {op: index for index, op in enumerate(ops)}
    edges = adjacency(snapshot)
    return [
        ControlEdge(index_of[one.op], index)
        for op, index in index_of.items()
        for one in edges.control_inputs(op)
        if one.op in index_of
    ]


def _edges_between(edges: Iterable[Edge], ops: Sequence[int]) -> list[Edge]:
    """Return the edges between some ops by their positions, each once and in order."""
    index_of = {op: index for index, op in enumerate(ops)}
    inside = {edge for edge in edges if edge.source in index_of and edge.target in index_of}
    ordered = sorted(inside, key=lambda e: (e.source, e.output_slot, e.target, e.input_slot, e.call or ""))
    return [replace(e, source=index_of[e.source], target=index_of[e.target]) for e in ordered]


def _walk(snapshot: Snapshot, start: int, hops: int, limit: int, *, backward: bool) -> _Walk:
    distances = {start: 0}
    front = [start]
    for steps in range(1, hops + 1):
        if not front:
            break
        step = _inputs(snapshot, front) if backward else _consumers(snapshot, front)
        next_ops = dict.fromkeys(edge.source if backward else edge.target for edge in step)
        front = [op for op in next_ops if op not in distances]
        room = limit - len(distances)
        distances.update(dict.fromkeys(front[:room], steps))
        if len(front) > room:
            return _Walk(distances, True)
    return _Walk(distances, False)


def _inputs(snapshot: Snapshot, ops: list[int]) -> list[Edge]:
    edges = adjacency(snapshot)
    found: list[Edge] = []
    for op in sorted(ops):
        for at, source, slot in edges.numbered_inputs(op):
            made = sorted(one.op for one in before_calls(snapshot, source) if one.call == "out")
            found += [*(Edge(end, 0, op, at, "out") for end in made), Edge(source, slot, op, at)]
    given = [(op, one) for op in ops for one in before_calls(snapshot, op) if one.call == "into"]
    return found + [Edge(one.op, one.slot, op, 0, "into") for op, one in given]


def _consumers(snapshot: Snapshot, ops: list[int]) -> list[Edge]:
    edges = adjacency(snapshot)
    taken = sorted((taker, at, op, slot) for op in ops for slot, taker, at in edges.numbered_consumers(op))
    direct = [Edge(op, slot, taker, at) for taker, at, op, slot in taken]
    inside = [
        Edge(op, slot, argument, at, "into")
        for taker, at, op, slot in taken
        for argument in given_to(snapshot, taker, at)
    ]
    callers = [(op, one) for op in ops for one in after_calls(snapshot, op) if one.call == "out"]
    return direct + inside + [Edge(op, 0, one.op, 0, "out") for op, one in callers]


def _op_objects(
    snapshot: Snapshot,
    distance: dict[int, int],
    left_out: tuple[Counter[int], Counter[int]],
    at: int | None,
) -> list[NearOp]:
    slots = {op: _slots(snapshot, op) for op in distance}
    tensors = [
        (op, slot, Side.NEAREST if not steps else Side.BEFORE if steps < 0 else Side.AFTER)
        for op, steps in distance.items()
        for slot in slots[op]
    ]
    traces = nearest_traces(snapshot, tensors, at)
    healths = health_of(snapshot, traces.values())
    health = {(op, slot): healths.get(index) for (op, slot, _), index in traces.items()}
    outputs = {
        op: [
            NearOutput(
                *dtype_and_shape(snapshot, op, slot, health.get((op, slot))),
                *(snapshot.catalog.gradients.get((op, slot), []), health.get((op, slot))),
            )
            for slot in slots[op]
        ]
        for op in distance
    }
    inputs, consumers = left_out
    return [
        NearOp(
            *(graph.graph_id, graph.name, op.name, op.type, op.device, op.layer, op.variable),
            *(steps, graphs_run_by(snapshot, op.number), inputs[op.number], consumers[op.number]),
            outputs=outputs[op.number],
        )
        for op, steps in ((snapshot.catalog.ops[number], steps) for number, steps in distance.items())
        for graph in [snapshot.catalog.graphs[op.graph]]
    ]


def _slots(snapshot: Snapshot, op: int) -> range:
    recorded = [site.slot + 1 for site in snapshot.catalog.op_sites.get(op, ())]
    return range(min(_MAX_SLOTS, max([snapshot.catalog.ops[op].num_outputs or 0, *recorded])))
