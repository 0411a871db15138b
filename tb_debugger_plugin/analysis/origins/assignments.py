"""The assignment that made a variable bad.

Takes a value that was read from a variable. Searches what functions and Python assigned to it after its last
good value.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from tb_debugger_plugin.analysis.graph import op_kinds
from tb_debugger_plugin.analysis.origins.record import Record
from tb_debugger_plugin.analysis.origins.traces import BAD_ROWS, sites_of, spans_before
from tb_debugger_plugin.analysis.origins.values import BadKind, ValueRef
from tb_debugger_plugin.analysis.origins.variables import Keys, Touches, VariableKeys
from tb_debugger_plugin.analysis.snapshot import Columns
from tb_debugger_plugin.index.tensors import BAD, GOOD

#: Graph executions of a block, and blocks that are kept.
_BLOCK: Final = 1 << 16
_MAX_BLOCKS: Final = 16


class Assignments:
    """The assignments of a run; lives as long as a search.

    Args:
      record: The run.
      variables: Its variables.
    """

    def __init__(self, record: Record, variables: VariableKeys) -> None:
        self._record = record
        self._snapshot = record.snapshot
        self._variables = variables
        self._blocks: dict[int, Columns] = {}

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
        good_since = max([self._last_good(keys, at), *((read, -1) for read in good_reads)])
        touches = touches.between(good_since[0], time)
        inside = self._first_bad_assignment(keys, at, good_since, kind)
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

    def _last_good(self, keys: Keys, at: int) -> tuple[float, int]:
        """Time and position of the last good read; several tensors may have one time."""
        sites = sites_of(self._snapshot, [(op, 0) for op in self._variables.reading(keys)])
        if not sites:
            return -1.0, -1
        # All variables of a step are asked for, one after the other.
        block = max(at - 1, 0) // _BLOCK
        near = self._good_reads(block)
        before = np.flatnonzero(np.isin(near["site"], sites) & (near["idx"] < at))
        if len(before):
            return float(near["wall_time"][before[-1]]), int(near["idx"][before[-1]])
        for begin, end in spans_before(block * _BLOCK):
            rows = self._snapshot.rows(
                "SELECT wall_time, idx FROM graph_executions WHERE idx >= ? AND idx < ?"
                f" AND health = {GOOD} AND site IN (SELECT unnest(?)) ORDER BY idx DESC LIMIT 1",
                [begin, end, sites],
            )
            if rows:
                return rows[0][0], rows[0][1]
        return -1.0, -1

    def _good_reads(self, block: int) -> Columns:
        """Return the good reads of all variables in a block of the long list."""
        found = self._blocks.get(block)
        if found is None:
            sites = sites_of(self._snapshot, [(op, 0) for op in self._variables.reads])
            found = self._snapshot.columns(
                "SELECT site, idx, wall_time FROM graph_executions WHERE idx >= ? AND idx < ?"
                f" AND health = {GOOD} AND site IN (SELECT unnest(?::INTEGER[])) ORDER BY idx",
                [block * _BLOCK, (block + 1) * _BLOCK, sites],
            )
            if len(self._blocks) >= _MAX_BLOCKS:
                self._blocks.clear()
            self._blocks[block] = found
        return found

    def _first_bad_assignment(
        self, keys: Keys, at: int, since: tuple[float, int], kind: BadKind | None
    ) -> ValueRef | None:
        rows = f"health = {BAD} AND {BAD_ROWS.get(kind or '', 'true')}"
        found = self._traces_assigned(self._variables.assigning(keys), at, since, f"min(idx) FILTER ({rows})")
        return self._value(min(found, default=None))

    def _last_assignment(self, keys: Keys, at: int, since: tuple[float, int]) -> ValueRef | None:
        """Return the last assignment that computes with the variable's value: it may have made it bad."""
        computing = [
            op
            for op in self._variables.assigning(keys)
            if self._record.structure.op(op).type not in op_kinds.PLAIN_ASSIGNS
        ]
        return self._value(max(self._traces_assigned(computing, at, since, "max(idx)"), default=None))

    def _traces_assigned(
        self, ops: Iterable[int], at: int, since: tuple[float, int], choice: str
    ) -> list[tuple[int, int]]:
        """Return a trace of what each op assigned between two moments, and the op.

        Args:
          ops: The ops.
          at: The position before which the traces are.
          since: Time and position after which they are.
          choice: Which trace, as SQL.
        """
        found = []
        for op in ops:
            sites = sites_of(self._snapshot, self._record.structure.assigned(op))
            ((trace,),) = self._snapshot.rows(
                f"SELECT {choice} FROM graph_executions WHERE idx < ? AND idx > ? AND wall_time >= ?"
                " AND site IN (SELECT unnest(?::INTEGER[]))",
                [at, since[1], since[0], sites],
            )
            if trace is not None:
                found.append((int(trace), op))
        return found

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
