"""The record of a value: its numbers, its time, its op.

Takes a :class:`~tb_debugger_plugin.analysis.origins.values.ValueRef`. What was not measured has no numbers.
Executions and the eager tensors between them are read in parts: ids of tensors are never used twice in a
process, and makers are mostly near.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tb_debugger_plugin.analysis.calls.steps import step_at
from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.graph import op_kinds
from tb_debugger_plugin.analysis.origins.structure import Structure
from tb_debugger_plugin.analysis.origins.traces import Traces, measured
from tb_debugger_plugin.analysis.origins.values import UNMEASURED, Measured, ValueRef
from tb_debugger_plugin.analysis.snapshot import Snapshot

#: Executions in a part.
_PART: Final = 4_096
_MAX_PARTS: Final = 64
#: Parts that are searched for the maker or the takers of a tensor before the whole list is.
_NEAR: Final = 4


class EagerExecution(NamedTuple):
    """An execution.

    Attributes:
      op_type: Type of the op, or name of the function.
      is_function: Which of the two.
      graph: The graph that ran; -1 for none.
      host, stack, time, step: As on record.
      num_outputs: Number of its outputs.
    """

    op_type: str
    is_function: bool
    graph: int
    host: int
    stack: int
    time: float
    step: int
    num_outputs: int


@dataclass
class _Part:
    """Some consecutive executions."""

    executions: dict[int, EagerExecution] = field(default_factory=dict)
    inputs: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    outputs: dict[int, dict[int, tuple[int | None, Measured]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    makers: dict[int, tuple[int, int]] = field(default_factory=dict)
    takers: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))


class Eager:
    """The executions that a search has looked at; lives as long as the search.

    Args:
      snapshot: The run.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._parts: OrderedDict[int, _Part] = OrderedDict()
        self._made: dict[int, tuple[int, int] | None] = {}

    def execution(self, index: int) -> EagerExecution:
        """Return an execution by its position."""
        return self._part(index // _PART).executions[index]

    def inputs(self, index: int) -> list[int]:
        """Return the ids of the tensors that an execution took."""
        return self._part(index // _PART).inputs.get(index, [])

    def output(self, index: int, slot: int) -> Measured:
        """Return what was recorded of an output."""
        return self.outputs(index).get(slot, (None, UNMEASURED))[1]

    def outputs(self, index: int) -> dict[int, tuple[int | None, Measured]]:
        """Id and numbers of each output, by slot."""
        return self._part(index // _PART).outputs.get(index, {})

    def maker(self, tensor_id: int, before: int) -> tuple[int, int] | None:
        """Return the execution and the output slot that made a tensor; None when none is recorded."""
        if tensor_id in self._made:
            return self._made[tensor_id]
        part = before // _PART
        for number in range(part, max(-1, part - _NEAR), -1):
            found = self._part(number).makers.get(tensor_id)
            if found is not None:
                break
        else:
            rows = self._snapshot.rows(
                "SELECT idx, slot FROM execution_outputs WHERE tensor_id = ? AND idx < ?"
                " ORDER BY idx DESC LIMIT 1",
                [tensor_id, before],
            )
            found = rows[0] if rows else None
        self._made[tensor_id] = found
        return found

    def takers(self, tensor_id: int, after: int) -> list[tuple[int, int]]:
        """Return the executions soon after another one that took a tensor, and in which slot."""
        first = after // _PART
        return [
            (index, slot)
            for part in range(first, first + 2)
            for index, slot in self._part(part).takers.get(tensor_id, ())
            if index > after
        ]

    def _part(self, number: int) -> _Part:
        part = self._parts.get(number)
        if part is None:
            part = self._parts[number] = self._read(number * _PART, (number + 1) * _PART)
            while len(self._parts) > _MAX_PARTS:
                self._parts.popitem(last=False)
        else:
            self._parts.move_to_end(number)
        return part

    def _read(self, begin: int, end: int) -> _Part:
        part, catalog = _Part(), self._snapshot.catalog
        for index, op_type, *rest in self._snapshot.rows(
            "SELECT idx, op_type, graph, host, stack, wall_time, step, num_outputs FROM executions"
            " WHERE idx >= ? AND idx < ?",
            [begin, end],
        ):
            name, is_function = catalog.op_types[op_type]
            part.executions[index] = EagerExecution(name, is_function, *rest)
        for index, slot, tensor_id in self._snapshot.rows(
            "SELECT idx, slot, tensor_id FROM execution_inputs WHERE idx >= ? AND idx < ? ORDER BY idx, slot",
            [begin, end],
        ):
            part.inputs[index].append(tensor_id)
            part.takers[tensor_id].append((index, slot))
        self._read_outputs(part, begin, end)
        return part

    def _read_outputs(self, part: _Part, begin: int, end: int) -> None:
        columns = self._snapshot.columns(
            "SELECT idx, slot, coalesce(tensor_id, -1) AS tensor_id, health, nan, neg_inf, pos_inf, size,"
            " positive, 0.0::DOUBLE AS wall_time FROM execution_outputs WHERE idx >= ? AND idx < ?"
            " ORDER BY idx, slot",
            [begin, end],
        )
        keys = zip(*(columns[name].tolist() for name in ("idx", "slot", "tensor_id")), strict=True)
        for row, (index, slot, tensor_id) in enumerate(keys):
            numbers = measured(columns, row)._replace(time=part.executions[index].time)
            known = tensor_id if tensor_id >= 0 else None
            part.outputs[index][slot] = (known, numbers)
            if known is not None:
                part.makers.setdefault(known, (index, slot))


class Record:
    """The record of a run; lives as long as a search.

    Args:
      snapshot: The run.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.structure = Structure(snapshot)
        self.traces = Traces(snapshot)
        self.eager = Eager(snapshot)

    def measured(self, value: ValueRef) -> Measured:
        """Return what was recorded of a value."""
        if value.trace >= 0:
            return self.traces.measured(value.trace)
        if value.execution >= 0 and value.slot >= 0:
            return self.eager.output(value.execution, value.slot)
        return UNMEASURED._replace(time=self.time(value))

    def time(self, value: ValueRef) -> float:
        """When a value was computed; for an assignment, about when."""
        if value.execution >= 0:
            return self.eager.execution(value.execution).time
        return self.traces.measured(value.at).time if value.at >= 0 else 0.0

    def op_of(self, value: ValueRef) -> Op | None:
        """Return the op of a graph that computed a value; None for other values."""
        if value.op >= 0:
            return self.structure.op(value.op)
        if value.trace < 0:
            return None
        return self.structure.op(self.snapshot.catalog.sites[self.traces.site(value.trace)].op)

    def slot_of(self, value: ValueRef) -> int:
        """Return the output slot of a value."""
        if value.trace < 0:
            return max(0, value.slot)
        return self.snapshot.catalog.sites[self.traces.site(value.trace)].slot

    def op_type(self, value: ValueRef) -> str:
        """Type of the op that computed a value, or name of the function."""
        if value.execution >= 0:
            return self.eager.execution(value.execution).op_type
        op = self.op_of(value)
        return value.outside if op is None else op.type or op.name

    def what(self, value: ValueRef) -> tuple[Hashable, ...]:
        """Return what is the same of all values of an op, or of an eager op on one line."""
        if value.execution >= 0:
            execution = self.eager.execution(value.execution)
            return (execution.op_type, execution.stack)
        op = self.op_of(value)
        return (value.outside,) if op is None else (op.number,)

    def brings_in(self, value: ValueRef) -> str | None:
        """Return the words for what the op of a value brings in; None when it computes its outputs."""
        op = self.op_of(value)
        return op_kinds.brings_in(self.op_type(value)) if op is None else self.structure.brings_in(op)

    def call_of(self, value: ValueRef) -> int | None:
        """Return the execution in which a value was computed; None where none is on record."""
        if value.execution >= 0:
            return value.execution
        return self.traces.window(value.at).owner if value.at >= 0 else None

    def step(self, value: ValueRef) -> int | None:
        """Return the step in which a value was computed; None if it is not known, or the only one."""
        if value.at >= 0:
            return self.traces.step(value.at)
        if value.execution < 0:
            return None
        execution = self.eager.execution(value.execution)
        return step_at(self.snapshot, execution.host, execution.time, execution.step)

    def taken(self, execution: int) -> list[tuple[int, ValueRef | None]]:
        """Return the values that an execution took, by slot; None for one that no execution on record made.

        The variable that is assigned is not among them.
        """
        is_assignment = op_kinds.is_assignment(self.eager.execution(execution).op_type)
        taken: list[tuple[int, ValueRef | None]] = []
        for slot, tensor_id in enumerate(self.eager.inputs(execution)):
            if slot > 0 or not is_assignment:
                taken.append((slot, self.made(tensor_id, execution)))
        return taken

    def made(self, tensor_id: int, before: int) -> ValueRef | None:
        """Return the output of an execution that a tensor of Python is; None when none is on record.

        Args:
          tensor_id: The id of the tensor; ids come again.
          before: The execution that takes it.
        """
        made = self.eager.maker(tensor_id, before)
        return None if made is None else ValueRef(execution=made[0], slot=made[1])
