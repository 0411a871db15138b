"""Reads from a run what a diagnosis is about: a value, its op, the inputs, and what is around it.

Takes an op and a position in the list of graph executions, or an execution. An input of a graph keeps the
slot that the op has for it, whether it was measured or not: causes look at inputs by slot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.diagnosis.evidence import Input
from tb_debugger_plugin.analysis.diagnosis.near_executions import around_execution
from tb_debugger_plugin.analysis.diagnosis.near_ops import GraphOp, Health, around_graph_op
from tb_debugger_plugin.analysis.diagnosis.numbers import Numbers
from tb_debugger_plugin.analysis.diagnosis.sentences import ModelRole, Subject
from tb_debugger_plugin.analysis.graph.graphs import input_edges
from tb_debugger_plugin.analysis.snapshot import Json, Snapshot
from tb_debugger_plugin.analysis.values.bad_element import bad_element_of_execution, bad_element_of_trace
from tb_debugger_plugin.analysis.values.nearest_value import Side, health_of, nearest_traces

#: Ops that return their input; they are not recorded, and have the numbers of what they return.
_IDENTITIES: Final = frozenset({"Identity"})
_MAX_IDENTITIES: Final = 64
#: Inputs that are read; an op may have thousands.
_MAX_INPUTS: Final = 256


class Recorded(NamedTuple):
    """The record of a value and of the inputs of its op.

    Attributes:
      subject: The same for a diagnosis.
      output: The health of the value.
      inputs: Name and health of each input.
    """

    subject: Subject
    output: Health
    inputs: list[tuple[str, Health]]


def of_graph_op(
    snapshot: Snapshot,
    op: Op,
    slot: int,
    index: int,
    *,
    is_recorded: bool = True,
    known: Mapping[int, Health] | None = None,
) -> Recorded:
    """Return the record of an output of an op of a graph.

    Args:
      snapshot: The run.
      op: The op.
      slot: The output.
      index: The graph execution that recorded it, or one of the same call.
      is_recorded: Whether it recorded this output.
      known: The health of inputs by slot, for those that the nearest record before does not have.
    """
    output = health_of(snapshot, [index]).get(index) if is_recorded else None
    around = around_graph_op(snapshot, op, index)
    edges = input_edges(snapshot, op.number)[:_MAX_INPUTS]
    healths = _nearest(snapshot, edges, index) | dict(known or {})
    names = {number: f"{snapshot.catalog.ops[source].name}:{at}" for number, source, at in edges}
    subject = Subject(
        op.type or op.name,
        op.name,
        slot,
        snapshot.catalog.graphs[op.graph].name,
        ModelRole(op.layer, op.variable, snapshot.catalog.gradients.get((op.number, slot), [])),
        around.op.measured(slot, output),
        [
            Input(
                names[number],
                GraphOp(snapshot, snapshot.catalog.ops[source], index).known(at, healths.get(number)),
            )
            for number, source, at in edges
        ],
        around,
        bad_element_of_trace(snapshot, index) if is_recorded else None,
    )
    return Recorded(subject, output, [(names[number], healths.get(number)) for number, *_ in edges])


def of_execution(snapshot: Snapshot, execution: Json, slot: int) -> Recorded:
    """Return the record of an output of an execution.

    Args:
      snapshot: The run.
      execution: The execution, as the route ``execution/data`` gives it.
      slot: The output.
    """
    outputs = execution["outputs"]
    output = outputs[slot] if slot < len(outputs) else None
    inputs = [
        Input(
            f"number {i + 1}" if each["op_type"] is None else f"{each['op_type']}:{each['output_slot'] or 0}",
            None if each["health"] is None else Numbers.of_health(each["health"]),
            each["op_type"] is None,
        )
        for i, each in enumerate(execution["inputs"])
    ]
    around = around_execution(snapshot, execution["index"])
    numbers = Numbers.of_health(output)
    element = bad_element_of_execution(snapshot, execution["index"], slot)
    subject = Subject(execution["op_type"], None, slot, None, ModelRole(), numbers, inputs, around, element)
    healths = [each["health"] for each in execution["inputs"]]
    return Recorded(subject, output, [(each.name, one) for each, one in zip(inputs, healths, strict=True)])


def measured_source(snapshot: Snapshot, op_number: int, slot: int) -> tuple[int, int]:
    """Return the tensor itself or, for an Identity that was not recorded, the tensor that it returns."""
    source = (op_number, slot)
    for _ in range(_MAX_IDENTITIES):
        op = snapshot.catalog.ops[source[0]]
        if op.type not in _IDENTITIES or snapshot.catalog.op_sites.get(op.number):
            return source
        edges = input_edges(snapshot, op.number)
        if not edges:
            return source
        source = edges[0][1:]
    return source


def _nearest(snapshot: Snapshot, edges: list[tuple[int, int, int]], index: int) -> dict[int, Health]:
    """Return the health of the last value of each input before a position."""
    sources = {number: measured_source(snapshot, source, slot) for number, source, slot in edges}
    keys = {(op_number, slot, Side.BEFORE) for op_number, slot in sources.values()}
    nearest = nearest_traces(snapshot, keys, index)
    healths = health_of(snapshot, nearest.values())
    positions = {number: nearest.get((*source, Side.BEFORE)) for number, source in sources.items()}
    return {number: healths[position] for number, position in positions.items() if position is not None}
