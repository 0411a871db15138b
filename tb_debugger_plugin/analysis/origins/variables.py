"""Which ops and executions read and assign the same variable.

Takes an op with the handle of a variable; returns the keys of the variable. A handle that was passed into a
function is followed to the call from Python, where it has the id of an eager tensor. Where it cannot be
followed, the variable's name on record is its key.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.graph import op_kinds
from tb_debugger_plugin.analysis.origins.structure import Structure
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.events.numbers import Array, Floats, Integers
from tb_debugger_plugin.events.tensorflow_names import ARGUMENTS

Keys = frozenset[Hashable]
_MAX_STEPS: Final = 64


@dataclass(frozen=True)
class Touches:
    """The executions that read or assign a variable, in the order of time, as columns.

    A training without functions has hundreds of thousands of them for each variable.

    Attributes:
      executions: Their positions.
      times: When each ended.
      assigns: Which of them assign.
      healths: The worst health of the outputs of each.
    """

    executions: Integers
    times: Floats
    assigns: Array
    healths: Array

    def between(self, after: float, before: float) -> Touches:
        """Return those that ended after a time and before another one."""
        begin = int(np.searchsorted(self.times, after, side="right"))
        return self._at(slice(begin, max(begin, int(np.searchsorted(self.times, before)))))

    def reads(self, *healths: int) -> Touches:
        """Return those that read a value of one of these healths."""
        return self._at(np.flatnonzero(~self.assigns & np.isin(self.healths, healths)))

    def assigning(self) -> Integers:
        """Return the positions of those that assign."""
        return self.executions[self.assigns]

    def _at(self, rows: slice | Integers) -> Touches:
        return Touches(self.executions[rows], self.times[rows], self.assigns[rows], self.healths[rows])


class VariableKeys:
    """The variables of a run; lives as long as a search.

    Args:
      snapshot: The run.
      structure: Its graphs.
    """

    def __init__(self, snapshot: Snapshot, structure: Structure) -> None:
        self._snapshot = snapshot
        self._structure = structure
        self._handles: dict[int, Keys] = {}
        self._touches: dict[frozenset[int], Touches] = {}
        self._root_inputs = self._read_root_inputs()
        ops = [op for op in snapshot.catalog.ops if op.type]
        self.assigns = {op.number: self.keys(op) for op in ops if op_kinds.is_assignment(op.type)}
        self.reads = {op.number: self.keys(op) for op in ops if op.type in op_kinds.READS}

    def _read_root_inputs(self) -> dict[tuple[int, int], int]:
        """Return the id of the eager tensor that was first passed as each argument of each graph."""
        firsts: dict[int, int] = dict(
            self._snapshot.rows("SELECT min(idx), graph FROM executions WHERE graph >= 0 GROUP BY graph")
        )
        rows = self._snapshot.rows(
            "SELECT idx, slot, tensor_id FROM execution_inputs WHERE idx IN (SELECT unnest(?))",
            [list(firsts)],
        )
        return {(firsts[index], slot): tensor_id for index, slot, tensor_id in rows}

    def keys(self, op: Op) -> Keys:
        """Return the keys of the variable that an op reads or assigns."""
        if op.type in ("VariableV2", "Variable", "TemporaryVariable"):
            return frozenset({("op", op.number)})
        inputs = self._structure.inputs(op.number)
        found = self._of_handle(inputs[0][0], 0) if inputs else frozenset()
        return found or (frozenset({("name", op.variable)}) if op.variable else frozenset())

    def _of_handle(self, number: int, steps: int) -> Keys:
        known = self._handles.get(number)
        if known is not None:
            return known
        self._handles[number] = frozenset()  # ends a cycle made by damage
        found = self._handles[number] = self._find(number, steps)
        return found

    def _find(self, number: int, steps: int) -> Keys:
        structure, op = self._structure, self._structure.op(number)
        if steps > _MAX_STEPS:
            return frozenset()
        if op.type not in ARGUMENTS:
            if op.type in ("VarHandleOp", "VariableV2", "Variable", "TemporaryVariable"):
                return frozenset({("op", number)})
            inputs = structure.inputs(number)
            return self._of_handle(inputs[0][0], steps + 1) if inputs else frozenset()
        position = structure.position(number)
        found: set[Hashable] = set()
        for caller, first in structure.callers(op.graph):
            for source, _ in structure.inputs(caller)[position + first :][:1]:
                found |= self._of_handle(source, steps + 1)
        given = self._root_inputs.get((op.graph, position))
        return frozenset(found if given is None else {*found, ("id", given)})

    def assigning(self, keys: Keys) -> list[int]:
        """Return the ops of graphs that assign a variable."""
        return [op for op, own in self.assigns.items() if own & keys]

    def reading(self, keys: Keys) -> list[int]:
        """Return the ops of graphs that read a whole variable."""
        return [
            op
            for op, own in self.reads.items()
            if own & keys and self._structure.op(op).type not in op_kinds.PARTIAL_READS
        ]

    def touches(self, keys: Keys) -> Touches:
        """Return the executions that read or assign a variable, in the order of time."""
        ids = frozenset(key[1] for key in keys if isinstance(key, tuple) and key[0] == "id")
        known = self._touches.get(ids)
        if known is None:
            known = self._touches[ids] = self._of_ids(ids)
        return known

    def _of_ids(self, ids: Iterable[int]) -> Touches:
        every = self._all_touches
        taking = self._snapshot.columns(
            "SELECT idx FROM execution_inputs WHERE tensor_id IN (SELECT unnest(?::BIGINT[])) AND slot = 0",
            [list(ids)],
        )["idx"]
        rows = np.flatnonzero(np.isin(every.executions, taking))
        return every._at(rows[np.argsort(every.times[rows], kind="stable")])

    @cached_property
    def _all_touches(self) -> Touches:
        """The executions that read or assign any variable, in the order of their positions."""
        types = {
            number: op_kinds.is_assignment(name)
            for number, (name, is_function) in enumerate(self._snapshot.catalog.op_types)
            if not is_function and (op_kinds.is_assignment(name) or name in op_kinds.READS)
        }
        rows = self._snapshot.columns(
            "SELECT idx, wall_time, op_type, health FROM executions WHERE op_type IN"
            " (SELECT unnest(?::INTEGER[])) ORDER BY idx",
            [list(types)],
        )
        assigns = np.isin(rows["op_type"], [number for number, is_assigned in types.items() if is_assigned])
        return Touches(rows["idx"], rows["wall_time"], assigns, rows["health"])
