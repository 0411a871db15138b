"""Graphs, ops and their neighbours, with health.

Takes the id of a graph, the name of an op and a position in the list of graph executions. Returns the op, its
inputs and its consumers, each with its last measurements at that position.
"""

from __future__ import annotations

from typing import Annotated, Final, TypedDict

from tb_debugger_plugin.analysis.calls.call_owner import owner_of
from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.graph.adjacency import Neighbour, adjacency
from tb_debugger_plugin.analysis.graph.forward_op import forward_op
from tb_debugger_plugin.analysis.graph.graph_calls import graph_calls
from tb_debugger_plugin.analysis.graph.op_kinds import PASSING_ON
from tb_debugger_plugin.analysis.snapshot import Json, Snapshot, check_index
from tb_debugger_plugin.analysis.source.sources import NO_STACK, FramesJson, stack_frames, stacks_of
from tb_debugger_plugin.analysis.values.health import HealthJson
from tb_debugger_plugin.analysis.values.nearest_value import Side, health_of, nearest_traces
from tb_debugger_plugin.errors import NotFoundError
from tb_debugger_plugin.events.dtypes import dtype_name

_MAX_SLOTS: Final = 256
#: Ops between an input and the tensor that it passes on.
_LONGEST_CHAIN: Final = 8
#: Inputs and consumers of neighbours that one answer names, so that a graph in which all ops are connected
#: does not fill the memory.
MAX_NAMED: Final = 100_000

#: Stacks whose frames are kept.
_STACKS: Final = 32

#: By op, the edges in order: slot of the op, the other op, slot of the other op.
_Edges = dict[int, list[tuple[int, int, int]]]
#: The other op of an edge, and the JSON of the edge.
_NamedEdge = tuple[int, Json]


class GraphInfoJson(TypedDict):
    """The answer of the route ``graphs/graph_info``."""

    name: str | None  #: name of the function; null when it has none
    graph_id: str  #: id of the graph
    outer_graph_id: str | None  #: the graph around it; null for an outermost one
    inner_graph_ids: list[str]  #: the graphs that were made directly inside it
    inner_graph_names: list[str | None]  #: the names of `inner_graph_ids`


class OpOutputJson(TypedDict):
    """An output of an op."""

    dtype: str | None  #: by the graph, otherwise as measured
    shape: list[int | None] | None  #: by the graph, otherwise as measured
    gradient_of: list[str]  #: see [Names](#names)
    health: HealthJson | None  #: the [health](#health) near `at`; null when never recorded


class OpJson(TypedDict):
    """An op."""

    wall_time: float | None  #: when the op was made
    op_type: str  #: type of the op
    op_name: str  #: name of the op
    output_tensor_ids: list[int] | None  #: tensor ids of the outputs, or null
    host_name: str | None  #: the host that made the op
    stack_frame_ids: list[str]  #: where the op was made; frames outermost first
    device_name: str | None  #: device of the op in the graph, or null
    graph_id: str  #: the graph of the op, the last of `graph_ids`
    graph_ids: list[str]  #: the graph of the op and the graphs around it, outermost first
    graph_name: str | None  #: name of the graph
    num_outputs: int | None  #: number of outputs
    passes_on: bool  #: whether the op returns its input unchanged and is not measured itself
    layer: str | None  #: see [Names](#names)
    variable: str | None
    outputs: list[OpOutputJson]  #: the outputs, by slot; the first 256


class InputEdgeJson(TypedDict):
    """A tensor that an op takes."""

    op_name: str  #: name of the op that makes it
    output_slot: int  #: slot of the tensor


class ConsumerEdgeJson(TypedDict):
    """An op that takes a tensor."""

    op_name: str  #: name of the op
    input_slot: int  #: the input that takes the tensor


class NeighbourJson(OpJson, total=False):
    """An input or consumer of an op."""

    inputs: list[InputEdgeJson]
    consumers: list[list[ConsumerEdgeJson]]


class SameJson(InputEdgeJson, total=False):
    """A tensor that an op passes on."""

    data: OpJson


class OpInputJson(InputEdgeJson, total=False):
    """An input of an op."""

    data: NeighbourJson  #: the op; missing when it is not on record
    #: the tensor that it passes on, through at most eight ops that do; null for a tensor of its own
    same: SameJson | None


class OpConsumerJson(ConsumerEdgeJson, total=False):
    """A consumer of an op."""

    data: NeighbourJson  #: the op; missing when it is not on record


class CalledGraphJson(TypedDict):
    """A graph that an op runs."""

    graph_id: str
    graph_name: str | None


class ForwardJson(TypedDict):
    """The op whose gradient an op is part of."""

    graph_id: str  #: its graph
    op_name: str  #: its name and type
    op_type: str
    stack_frame_ids: list[str]  #: where it was made; frames outermost first
    graph_execution_index: int | None  #: its nearest trace


class AttributeJson(TypedDict):
    """An attribute of an op."""

    name: str
    value: str


class OpInfoJson(OpJson):
    """The answer of the route ``graphs/op_info``."""

    graph_names: list[str | None]  #: the names of `graph_ids`
    #: what [stack_frames](#stack_framesstack_frames) answers for `stack_frame_ids`; null when one of them is
    #: not on record
    frames: FramesJson | None
    input_names: list[str]  #: the inputs in order, as `op_name:slot`
    #: the [graphs that the op runs](#graphs-that-an-op-runs): `graph_id` and `graph_name`
    runs: list[CalledGraphJson]
    #: the op whose gradient this op is part of; null when there is none, or it is not known for certain
    forward: ForwardJson | None
    inputs: list[OpInputJson]  #: the inputs
    consumers: list[list[OpConsumerJson]]  #: for each output slot, the consumers
    control_inputs: list[str]  #: names of the ops that this op waits for without taking a tensor
    control_consumers: list[str]  #: names of the ops that wait for this op in this way
    #: the attributes of the op: `name`, and `value` as [text](event-format.md#fields); null when not recorded
    attributes: list[AttributeJson] | None


def graph_number(snapshot: Snapshot, graph_id: str) -> int:
    """Return the number of a graph.

    Raises:
      NotFoundError: There is no such graph.
    """
    number = snapshot.catalog.graph_numbers.get(graph_id)
    if number is None:
        raise NotFoundError(f"There is no graph with the id {graph_id!r}.")
    return number


def graph_info(snapshot: Snapshot, graph_id: str) -> Json:
    """Return a graph with the ids of the graphs around and inside it.

    Raises:
      NotFoundError: There is no such graph.
    """
    graph = snapshot.catalog.graphs[graph_number(snapshot, graph_id)]
    graphs = snapshot.catalog.graphs
    inner = [other for other in graphs if other.outer == graph.number]
    return {
        "name": graph.name,
        "graph_id": graph.graph_id,
        "outer_graph_id": graphs[graph.outer].graph_id if graph.outer >= 0 else None,
        "inner_graph_ids": [one.graph_id for one in inner],
        "inner_graph_names": [one.name for one in inner],
    }


def op_info(snapshot: Snapshot, graph_id: str, op_name: str, at: int | None = None) -> Json:
    """Return an op with its inputs and consumers.

    Args:
      snapshot: The run.
      graph_id: The id of the op's graph.
      op_name: The name of the op.
      at: The position in the list of graph executions at which health is reported; None = the end.

    Raises:
      BadQueryError: There is no such position.
      NotFoundError: There is no such graph, or no such op in it.
    """
    if at is not None:
        check_index(at, snapshot.num_graph_executions, "graph execution")
    return _Neighbourhood(snapshot, find_op(snapshot, graph_id, op_name), at).info()


def find_op(snapshot: Snapshot, graph_id: str, op_name: str) -> Op:
    """Return an op by its graph's id and its name.

    Raises:
      NotFoundError: There is no such graph, or no such op in it.
    """
    number = snapshot.catalog.op_numbers.get((graph_number(snapshot, graph_id), op_name))
    if number is None:
        raise NotFoundError(f"There is no op named {op_name!r} in the graph with the id {graph_id!r}.")
    return snapshot.catalog.ops[number]


def attributes_of(snapshot: Snapshot, op: Op) -> list[tuple[str, str]]:
    """Return names and texts of the recorded attributes of an op, by name."""
    query = "SELECT name, value FROM op_attributes WHERE host = ? AND attributes = ? ORDER BY name"
    return snapshot.rows(query, [snapshot.catalog.graphs[op.graph].host, op.attributes])


def graphs_run_by(snapshot: Snapshot, op: int) -> list[Json]:
    """Return the graphs that an op runs."""
    numbers = [graph for graph, _ in graph_calls(snapshot).graphs.get(op, ())]
    graphs = [snapshot.catalog.graphs[number] for number in numbers]
    return [{"graph_id": graph.graph_id, "graph_name": graph.name} for graph in graphs]


def dtype_and_shape(
    snapshot: Snapshot, op: int, slot: int, health: Json | None
) -> tuple[str | None, list[int | None] | None]:
    """Return the dtype and the shape of an output: those of the graph, otherwise as measured.

    Args:
      snapshot: The run.
      op: The number of the op.
      slot: The output.
      health: What was measured of it, if anything was.
    """
    static = snapshot.catalog.statics.get((op, slot))
    dtype = dtype_name(static.dtype) if static else None
    shape = snapshot.catalog.dims(static.shape) if static else None
    return (
        dtype or (health["dtype"] if health else None),
        shape if shape is not None or health is None else health["shape"],
    )


class _Neighbourhood:
    """An op, its inputs and its consumers at one position; lives for one query."""

    def __init__(self, snapshot: Snapshot, op: Op, at: int | None) -> None:
        self._snapshot = snapshot
        self._op = op
        self._at = at
        self._inputs, self._consumers = _edges_of(snapshot, [op.number])
        self._passed = {
            number: self._behind(number) for _, number, _ in self._inputs[op.number] if self._copies(number)
        }
        sides = {op.number: Side.NEAREST}
        sides.update({edge[1]: Side.BEFORE for edge in self._inputs[op.number] if edge[1] != op.number})
        sides.update({edge[1]: Side.AFTER for edge in self._consumers[op.number] if edge[1] not in sides})
        inputs, consumers = _edges_of(snapshot, [n for n in sides if n != op.number])
        self._inputs.update(inputs)
        self._consumers.update(consumers)
        self._names_left = MAX_NAMED
        self._forward_op = forward_op(snapshot, op)
        # An input's own inputs are named only there; those behind it are shown.
        for chain in self._passed.values():
            sides.update({number: Side.BEFORE for _, number, _ in chain if number not in sides})
        shown = [snapshot.catalog.ops[number] for number in sides]
        self._stacks = stacks_of(snapshot, [one.stack for one in (*shown, self._forward_op) if one])
        tensors = [(n, slot, side) for n, side in sides.items() for slot in range(self._num_slots(n))]
        traces = nearest_traces(snapshot, tensors, at)
        healths = health_of(snapshot, traces.values())
        self._health = {(n, slot): healths.get(index) for (n, slot, _), index in traces.items()}

    def _num_slots(self, number: int) -> int:
        recorded = [site.slot + 1 for site in self._snapshot.catalog.op_sites.get(number, ())]
        declared = self._snapshot.catalog.ops[number].num_outputs or 0
        return min(_MAX_SLOTS, max([declared, *recorded]))

    def info(self) -> Json:
        """Return the answer to the query."""
        number = self._op.number
        graphs = self._snapshot.catalog.graphs
        return {
            **self._data(self._op),
            "graph_names": [graphs[each].name for each in self._snapshot.catalog.ancestry(self._op.graph)],
            "frames": self._frames(),
            "input_names": [
                f"{edge['op_name']}:{edge['output_slot']}" for _, edge in self._inputs_of(number)
            ],
            "runs": graphs_run_by(self._snapshot, number),
            "forward": self._forward(),
            "inputs": [
                {**self._with_data(edge), "same": self._same(edge[0])} for edge in self._inputs_of(number)
            ],
            "consumers": [list(map(self._with_data, edges)) for edges in self._consumers_of(number)],
            "control_inputs": self._names(adjacency(self._snapshot).control_inputs(number)),
            "control_consumers": self._names(adjacency(self._snapshot).control_consumers(number)),
            "attributes": self._attributes(),
        }

    def _copies(self, number: int) -> bool:
        return self._snapshot.catalog.ops[number].type in PASSING_ON

    def _behind(self, number: int) -> list[tuple[int, int, int]]:
        """Return the edges that lead from an op that passes its input on to what it is the same as."""
        chain: list[tuple[int, int, int]] = []
        while self._copies(number) and len(chain) < _LONGEST_CHAIN:
            edges = adjacency(self._snapshot).numbered_inputs(number)
            if not edges:
                break
            chain.append(edges[0])
            number = edges[0][1]
        return chain

    def _passes_on(self, number: int) -> bool:
        """Return whether an op returns its input unchanged and is not measured itself."""
        health = self._health.get((number, 0))
        return self._copies(number) and (health is None or health["bad"] is None)

    def _same(self, number: int) -> Json | None:
        """Return the tensor that an input passes on, as an input; None if it is a tensor of its own."""
        if not self._passes_on(number):
            return None
        for _, source, slot in self._passed.get(number, ()):
            if not self._passes_on(source):
                op = self._snapshot.catalog.ops[source]
                fields = {"op_name": op.name, "output_slot": slot}
                return {**fields, "data": self._data(op)} if op.known else fields
        return None

    def _names(self, neighbours: list[Neighbour]) -> list[str]:
        return [self._snapshot.catalog.ops[one.op].name for one in neighbours[:MAX_NAMED]]

    def _frames(self) -> Json | None:
        ids = self._stacks.get(self._op.stack, NO_STACK)[1]
        try:
            # Ops that are made one after another mostly have the same stack.
            return self._snapshot.remember_last(
                "op_info.frames", self._op.stack, _STACKS, lambda: stack_frames(self._snapshot, ids)
            )
        except NotFoundError:  # a damaged recording lacks some
            return None

    def _attributes(self) -> list[dict[str, str]] | None:
        if not self._op.attributes:
            return None
        rows = attributes_of(self._snapshot, self._op)
        return [{"name": name, "value": value} for name, value in rows]

    def _inputs_of(self, number: int) -> list[_NamedEdge]:
        ops = self._snapshot.catalog.ops
        return [
            (source, {"op_name": ops[source].name, "output_slot": slot})
            for _, source, slot in self._inputs[number]
        ]

    def _consumers_of(self, number: int) -> list[list[_NamedEdge]]:
        ops = self._snapshot.catalog.ops
        consumers: list[list[_NamedEdge]] = [[] for _ in range(self._num_slots(number))]
        for slot, consumer, input_slot in self._consumers[number]:
            if slot < len(consumers):
                consumers[slot].append((consumer, {"op_name": ops[consumer].name, "input_slot": input_slot}))
        return consumers

    def _with_data(self, edge: _NamedEdge) -> Json:
        number, fields = edge
        op = self._snapshot.catalog.ops[number]
        return {**fields, "data": {**self._data(op), **self._named_around(number)}} if op.known else fields

    def _named_around(self, number: int) -> Json:
        """Return the names of a neighbour's inputs and consumers."""
        self._names_left -= len(self._inputs[number]) + len(self._consumers[number])
        if self._names_left < 0:
            return {}
        return {
            "inputs": [fields for _, fields in self._inputs_of(number)],
            "consumers": [[fields for _, fields in edges] for edges in self._consumers_of(number)],
        }

    def _data(self, op: Op) -> Json:
        host_name, frames = self._stacks.get(op.stack, NO_STACK)
        slots = range(self._num_slots(op.number))
        statics = self._snapshot.catalog.statics
        ids = [statics[op.number, slot].tensor_id for slot in slots if (op.number, slot) in statics]
        return {
            "wall_time": op.wall_time,
            "op_type": op.type,
            "op_name": op.name,
            "output_tensor_ids": ids or None,
            "host_name": host_name,
            "stack_frame_ids": frames,
            "device_name": op.device,
            "graph_id": self._snapshot.catalog.graphs[op.graph].graph_id,
            "graph_ids": self._snapshot.catalog.graph_ids(op.graph),
            "graph_name": self._snapshot.catalog.graphs[op.graph].name,
            "num_outputs": op.num_outputs,
            "passes_on": self._passes_on(op.number),
            "layer": op.layer,
            "variable": op.variable,
            "outputs": [self._output(op, slot) for slot in slots],
        }

    def _forward(self) -> Json | None:
        forward = self._forward_op
        if forward is None:
            return None
        key = (forward.number, 0, Side.BEFORE)
        return {
            "graph_id": self._snapshot.catalog.graphs[forward.graph].graph_id,
            "op_name": forward.name,
            "op_type": forward.type,
            "stack_frame_ids": self._stacks.get(forward.stack, NO_STACK)[1],
            "graph_execution_index": nearest_traces(self._snapshot, [key], self._at).get(key),
        }

    def _output(self, op: Op, slot: int) -> Json:
        health = self._health.get((op.number, slot))
        dtype, shape = dtype_and_shape(self._snapshot, op.number, slot, health)
        return {
            "dtype": dtype,
            "shape": shape,
            "gradient_of": self._snapshot.catalog.gradients.get((op.number, slot), []),
            "health": health,
        }


def _edges_of(snapshot: Snapshot, numbers: list[int]) -> tuple[_Edges, _Edges]:
    """Return the edges into some ops, and those out of them."""
    edges = adjacency(snapshot)
    inputs = {number: edges.numbered_inputs(number) for number in numbers}
    consumers = {number: edges.numbered_consumers(number) for number in numbers}
    return inputs, consumers


def input_edges(snapshot: Snapshot, op: int) -> list[tuple[int, int, int]]:
    """Return the inputs of an op as ``(input slot, source op, source slot)``, in order."""
    return adjacency(snapshot).numbered_inputs(op)


class TracedInputJson(InputEdgeJson):
    """An input of the op of a graph execution, with the value that went in."""

    graph_execution_index: int | None  #: position of its nearest earlier trace, or null
    health: HealthJson | None  #: the [health](#health) of that trace, or null


def inputs_of(snapshot: Snapshot, index: int) -> list[Json]:
    """Return the inputs of the op of one trace.

    Args:
      snapshot: The run.
      index: The position of the trace.

    Raises:
      BadQueryError: There is no such position.
    """
    check_index(index, snapshot.num_graph_executions, "graph execution")
    ((site,),) = snapshot.rows("SELECT site FROM graph_executions WHERE idx = ?", [index])
    edges = input_edges(snapshot, snapshot.catalog.sites[site].op)
    tensors = [(source, slot, Side.BEFORE) for _, source, slot in edges]
    traces = {
        key: position
        for key, position in nearest_traces(snapshot, tensors, index).items()
        if position <= index
    }
    healths = health_of(snapshot, traces.values())
    return [
        {
            "op_name": snapshot.catalog.ops[source].name,
            "output_slot": slot,
            "graph_execution_index": traces.get((source, slot, Side.BEFORE)),
            "health": healths.get(traces.get((source, slot, Side.BEFORE), -1)),
        }
        for _, source, slot in edges
    ]


class PausedOpJson(TypedDict):
    """An op at which a program is paused."""

    #: position of the newest graph execution of the tensor; null if there is none
    graph_execution: int | None
    owner: int | None  #: position of the execution in which it ran; null before that has ended
    #: the op at that moment, as in [graphs/op_info](#graphsop_info), with [Health](#health) and
    #: [frames](#stack_framesstack_frames)
    info: Annotated[Json, OpInfoJson]


def paused_op(snapshot: Snapshot, graph_id: str, op_name: str, slot: int) -> PausedOpJson | None:
    """Return the newest graph execution of an op's output, its owner, and the op at that moment.

    Args:
      snapshot: The run.
      graph_id: The id of the op's graph.
      op_name: The name of the op.
      slot: The output.

    Returns:
      None when the graph or the op is not on record.
    """
    try:
        op = find_op(snapshot, graph_id, op_name)
    except NotFoundError:
        return None
    key = (op.number, slot, Side.NEAREST)
    index = nearest_traces(snapshot, [key], None).get(key)
    return {
        "graph_execution": index,
        "owner": None if index is None else owner_of(snapshot, index),
        "info": op_info(snapshot, graph_id, op_name, index),
    }
