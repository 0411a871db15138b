"""The record of a value: its numbers, its time, its op.

Takes a :class:`~tb_debugger_plugin.analysis.origins.values.Value`. What was not measured has no numbers.
"""

from __future__ import annotations

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.graph import op_kinds
from tb_debugger_plugin.analysis.origins.eager import Eager
from tb_debugger_plugin.analysis.origins.structure import Structure
from tb_debugger_plugin.analysis.origins.traces import Traces
from tb_debugger_plugin.analysis.origins.values import UNMEASURED, Measured, Value
from tb_debugger_plugin.analysis.snapshot import Snapshot


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

    def measured(self, value: Value) -> Measured:
        """Return what was recorded of a value."""
        if value.trace >= 0:
            return self.traces.measured(value.trace)
        if value.execution >= 0 and value.slot >= 0:
            return self.eager.output(value.execution, value.slot)
        return UNMEASURED._replace(time=self.time(value))

    def time(self, value: Value) -> float:
        """When a value was computed; for an assignment, about when."""
        if value.execution >= 0:
            return self.eager.execution(value.execution).time
        return self.traces.measured(value.at).time if value.at >= 0 else 0.0

    def op_of(self, value: Value) -> Op | None:
        """Return the op of a graph that computed a value; None for other values."""
        if value.op >= 0:
            return self.structure.op(value.op)
        if value.trace < 0:
            return None
        return self.structure.op(self.snapshot.catalog.sites[self.traces.site(value.trace)].op)

    def slot_of(self, value: Value) -> int:
        """Return the output slot of a value."""
        if value.trace < 0:
            return max(0, value.slot)
        return self.snapshot.catalog.sites[self.traces.site(value.trace)].slot

    def op_type(self, value: Value) -> str:
        """Type of the op that computed a value, or name of the function."""
        if value.execution >= 0:
            return self.eager.execution(value.execution).op_type
        op = self.op_of(value)
        return value.outside if op is None else op.type or op.name

    def brings_in(self, value: Value) -> str | None:
        """Return the words for what the op of a value brings in; None when it computes its outputs."""
        op = self.op_of(value)
        return op_kinds.brings_in(self.op_type(value)) if op is None else self.structure.brings_in(op)

    def call_of(self, value: Value) -> int | None:
        """Return the execution in which a value was computed; None where none is on record."""
        if value.execution >= 0:
            return value.execution
        return self.traces.window(value.at).owner if value.at >= 0 else None

    def step(self, value: Value) -> int | None:
        """How often the function in which a value was computed had been called before."""
        index = self.call_of(value)
        if index is None or not self.eager.execution(index).is_function:
            return None
        ((count,),) = self.snapshot.rows(
            "SELECT count(*) FROM executions WHERE idx < ? AND op_type ="
            " (SELECT op_type FROM executions WHERE idx = ?)",
            [index, index],
        )
        return int(count)

    def taken(self, execution: int) -> list[tuple[int, Value | None]]:
        """Return the values that an execution took, by slot; None for one that no execution on record made.

        The variable that is assigned is not among them.
        """
        is_assignment = op_kinds.is_assignment(self.eager.execution(execution).op_type)
        taken: list[tuple[int, Value | None]] = []
        for slot, tensor_id in enumerate(self.eager.inputs(execution)):
            if slot > 0 or not is_assignment:
                taken.append((slot, self.made(tensor_id, execution)))
        return taken

    def made(self, tensor_id: int, before: int) -> Value | None:
        """Return the output of an execution that a tensor of Python is; None when none is on record.

        Args:
          tensor_id: The id of the tensor; ids come again.
          before: The execution that takes it.
        """
        made = self.eager.maker(tensor_id, before)
        return None if made is None else Value(execution=made[0], slot=made[1])
