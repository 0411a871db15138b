"""Selections: the rows of a long list that fulfil a filter, by their position among themselves.

Takes a filter and an order and returns a :class:`Selection`, which is counted once per commit and then gives
pages. For a list in its own order it stores how many rows of each stretch match, so that a page reads only
the few stretches that it needs. For a sorted list it stores the first rows; who scrolls further waits once
until all rows are sorted.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.lists.filters import (
    Filter,
    RowCondition,
    RowOrder,
    execution_condition,
    graph_execution_condition,
)
from tb_debugger_plugin.analysis.lists.orders import first_rows, whole_order
from tb_debugger_plugin.analysis.snapshot import Columns, Range, Snapshot, check_index
from tb_debugger_plugin.events.numbers import Integers
from tb_debugger_plugin.index.columns import ROW_GROUP

#: How many of the first rows of a sorted list are found at once.
FIRST_SORTED: Final = 10_000
#: Bytes of the orders of whole lists that are kept with a run, four for each row. Of a list with more rows
#: only the first ones are there.
_ORDER_BYTES: Final = 100_000_000
#: Rows of a stretch: what DuckDB reads whole or leaves out.
STRETCH: Final = ROW_GROUP
_KEPT: Final = 16
#: Sorted lists need none.
_NO_ENDS: Final = np.empty(0, np.int64)


@dataclass(frozen=True)
class Selection:
    """Rows of one list at one commit.

    Attributes:
      table: ``executions`` or ``graph_executions``.
      condition: The condition that the rows fulfil.
      matching: The number of rows that fulfil it.
      total: The number of rows in pages: ``matching``, unless a sorted list is too long to be sorted whole.
      ends: How many rows match in each stretch and all stretches before it; empty in a sorted list.
      order: The first positions in the whole list, sorted; None = the list's own order.
      row_order: How a list is sorted of which ``order`` has not all rows.
      key: What tells it from the other selections of its commit.
    """

    table: str
    condition: RowCondition
    matching: int
    total: int
    ends: npt.NDArray[np.int64]
    order: npt.NDArray[np.int64] | None
    row_order: RowOrder | None = None
    key: Hashable = None

    def rows(self, snapshot: Snapshot, select: str, page: Range) -> Columns:
        """Return a range of rows as NumPy columns.

        Args:
          snapshot: The run, at the same commit.
          select: SQL of the columns of table ``t``, with ``t.idx`` among them.
          page: Positions among the rows of the selection.
        """
        if self.order is not None:
            is_first = page.end <= len(self.order)
            whole = self.order if is_first else self._whole(snapshot)
            positions = whole[page.begin : page.end].astype(np.int64)
            return self._sorted_rows(snapshot, select, positions)
        first = int(np.searchsorted(self.ends, page.begin, side="right"))
        last = int(np.searchsorted(self.ends, page.end, side="left"))
        before = int(self.ends[first - 1]) if first else 0
        return snapshot.columns(
            f"SELECT {select} FROM {self.table} t WHERE t.idx >= ? AND t.idx < ? AND ({self.condition.sql})"
            " ORDER BY t.idx LIMIT ? OFFSET ?",
            [
                *(first * STRETCH, (last + 1) * STRETCH, *self.condition.parameters),
                *(page.end - page.begin, page.begin - before),
            ],
        )

    def before(self, snapshot: Snapshot, index: int) -> int | None:
        """Return how many rows are before a position of the whole list.

        Args:
          snapshot: The run, at the same commit.
          index: The position.

        Returns:
          The number; None in a sorted list that does not have the position.
        """
        if self.order is not None:
            found = np.flatnonzero(self.order == index)
            if not len(found) and len(self.order) < self.total:
                found = np.flatnonzero(self._whole(snapshot) == index)
            return int(found[0]) if len(found) else None
        query = f"SELECT count(*) FROM {self.table} t WHERE t.idx < ? AND ({self.condition.sql})"
        return int(snapshot.rows(query, [index, *self.condition.parameters])[0][0])

    def _whole(self, snapshot: Snapshot) -> npt.NDArray[np.int32]:
        """Return the order of all rows, of which two or more are kept."""
        order = self.row_order
        assert order is not None
        return snapshot.remember_last(
            "whole orders",
            self.key,
            _ORDER_BYTES,
            lambda: whole_order(snapshot, self.table, self.condition, order),
            lambda positions: float(positions.nbytes),
        )

    def _sorted_rows(self, snapshot: Snapshot, select: str, positions: Integers) -> Columns:
        query = f"SELECT {select} FROM {self.table} t WHERE t.idx IN (SELECT unnest(?)) ORDER BY t.idx"
        rows = snapshot.columns(query, [positions.tolist()])
        indices = np.searchsorted(rows["idx"], positions)
        return {name: values[indices] for name, values in rows.items()}


def select(snapshot: Snapshot, table: str, row_filter: Filter, order: RowOrder | None = None) -> Selection:
    """Find the rows of a list that fulfil a filter.

    Args:
      snapshot: The run.
      table: ``executions`` or ``graph_executions``.
      row_filter: The filter.
      order: How they are sorted; None = as in the list.

    Raises:
      BadQueryError: The filter names something that does not exist.
    """
    key = (table, row_filter, order)
    return snapshot.remember_last("selections", key, _KEPT, lambda: _select(snapshot, *key))


def condition_of(snapshot: Snapshot, table: str, row_filter: Filter) -> RowCondition:
    """Return the condition for rows of a list.

    Raises:
      BadQueryError: The filter names something that does not exist.
    """
    of_table = graph_execution_condition if table == "graph_executions" else execution_condition
    return of_table(snapshot, row_filter)


def _select(snapshot: Snapshot, table: str, row_filter: Filter, order: RowOrder | None) -> Selection:
    condition = condition_of(snapshot, table, row_filter)
    if order is not None:
        return _select_sorted(snapshot, table, condition, order, (table, row_filter, order))
    total = snapshot.num_graph_executions if table == "graph_executions" else snapshot.num_executions
    counts = np.diff(np.minimum(np.arange(-(-total // STRETCH) + 1) * STRETCH, total))
    if condition.sql == "true":
        return Selection(table, condition, total, total, np.cumsum(counts), None)
    counts[:] = 0
    for stretch, count in snapshot.rows(
        f"SELECT t.idx // {STRETCH}, count(*) FROM {table} t WHERE {condition.sql} GROUP BY 1",
        list(condition.parameters),
    ):
        counts[stretch] = count
    matching = int(counts.sum())
    return Selection(table, condition, matching, matching, np.cumsum(counts), None)


def _select_sorted(
    snapshot: Snapshot, table: str, condition: RowCondition, order: RowOrder, key: Hashable
) -> Selection:
    positions, matching = first_rows(snapshot, table, condition, order, FIRST_SORTED)
    total = matching if 4 * matching <= _ORDER_BYTES else len(positions)
    return Selection(table, condition, matching, total, _NO_ENDS, positions, order, key)


def select_at(
    snapshot: Snapshot, table: str, positions: Sequence[int], order: RowOrder | None = None
) -> Selection:
    """Return the rows at some positions as a selection.

    Args:
      snapshot: The run.
      table: ``executions`` or ``graph_executions``.
      positions: The positions in the whole list, each once.
      order: How they are sorted; None = as given.

    Raises:
      BadQueryError: There is no such position.
    """
    chosen = np.asarray(positions, np.int64)
    total = snapshot.num_graph_executions if table == "graph_executions" else snapshot.num_executions
    if len(chosen):
        check_index(int(chosen.min()), total, "row")
        check_index(int(chosen.max()), total, "row")
    condition = RowCondition("t.idx IN (SELECT unnest(?::BIGINT[]))", (chosen.tolist(),))
    if order is not None:
        return _select_sorted(snapshot, table, condition, order, (table, tuple(chosen.tolist()), order))
    return Selection(table, condition, len(chosen), len(chosen), _NO_ENDS, chosen)
