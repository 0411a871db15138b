"""The assignment that made a variable bad.

Takes a value that was read from a variable. Searches what functions and Python assigned to it after its last
good value.
"""

from __future__ import annotations

import numpy as np

from tb_debugger_plugin.analysis.graph import op_kinds
from tb_debugger_plugin.analysis.origins.record import Record
from tb_debugger_plugin.analysis.origins.values import BadKind, ValueRef
from tb_debugger_plugin.analysis.origins.variable_traces import VariableTraces
from tb_debugger_plugin.analysis.origins.variables import Keys, Touches, VariableKeys
from tb_debugger_plugin.index.tensors import GOOD


class Assignments:
    """The assignments of a run; lives as long as a search.

    Args:
      record: The run.
      variables: Its variables.
      traces: What was read and assigned of them.
    """

    def __init__(self, record: Record, variables: VariableKeys, traces: VariableTraces) -> None:
        self._record = record
        self._snapshot = record.snapshot
        self._variables = variables
        self._traces = traces

    def of(self, keys: Keys, value: ValueRef, kind: BadKind | None) -> ValueRef | None:
        """Return the assignment after which a variable was bad: the first one after its last good value.

        Args:
          keys: The keys of the variable.
          value: A value that was read from it.
          kind: The kind of bad elements that is followed.

        Returns:
          None when no assignment is on record that may have made it.
        """
        at, time = self._position(value), self._record.time(value)
        touches = self._variables.touches(keys)
        good_reads = touches.between(-np.inf, time).reads(GOOD).times[-1:].tolist()
        good_since = max([self._traces.last_good_read(keys, at), *((read, -1) for read in good_reads)])
        touches = touches.between(good_since[0], time)
        assigning = self._variables.assigning(keys)
        inside = self._value(self._traces.first_bad_assigned(assigning, at, good_since, kind))
        outside = self._first_bad_touch(touches, kind)
        found = [each for each in (inside, outside) if each is not None]
        if found:
            return min(found, key=self._record.time)
        return self._last_assignment(keys, at, good_since) or self._last_touch(touches)

    def _position(self, value: ValueRef) -> int:
        """Return the position among graph executions before which an assignment is searched."""
        if value.execution < 0:
            return value.at
        ((found,),) = self._snapshot.rows(
            "SELECT count(*) FROM graph_executions WHERE wall_time < ?",
            [self._record.eager.execution(value.execution).time],
        )
        return int(found)

    def _last_assignment(self, keys: Keys, at: int, since: tuple[float, int]) -> ValueRef | None:
        """Return the last assignment that computes with the variable's value: it may have made it bad."""
        computing = [
            op
            for op in self._variables.assigning(keys)
            if self._record.structure.op(op).type not in op_kinds.PLAIN_ASSIGNS
        ]
        return self._value(self._traces.last_assigned(computing, at, since))

    @staticmethod
    def _value(assigned: tuple[int, int] | None) -> ValueRef | None:
        return None if assigned is None else ValueRef(op=assigned[1], near=assigned[0])

    def _first_bad_touch(self, touches: Touches, kind: BadKind | None) -> ValueRef | None:
        for execution in map(int, touches.assigning()):
            if self._assigns_bad(execution, kind):
                return ValueRef(execution=execution)
        return None

    def _assigns_bad(self, execution: int, kind: BadKind | None) -> bool:
        given = [self._record.measured(value) for _, value in self._record.taken(execution) if value]
        return any(numbers.bad and (kind is None or numbers.has(kind) is not False) for numbers in given)

    @staticmethod
    def _last_touch(touches: Touches) -> ValueRef | None:
        assigning = touches.assigning()
        return ValueRef(execution=int(assigning[-1])) if len(assigning) else None
