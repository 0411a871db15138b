"""The part of a run that gives its long lists: executions and graph executions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, Final

from tb_debugger_plugin.analysis import sources as source_files
from tb_debugger_plugin.analysis.lists import tables
from tb_debugger_plugin.analysis.lists.filters import (
    EXECUTION_ORDERS,
    GRAPH_EXECUTION_ORDERS,
    HEALTH,
    Filter,
    Order,
    parse_comparisons,
)
from tb_debugger_plugin.analysis.lists.selection import Selection, select, select_at
from tb_debugger_plugin.analysis.lists.tables import Page
from tb_debugger_plugin.analysis.snapshot import Range, Snapshot
from tb_debugger_plugin.errors import NotFoundError, UsageError
from tb_debugger_plugin.reading.rows import Execution, GraphExecution, Row, Rows
from tb_debugger_plugin.reading.values_of_run import ValuesOfRun

_FILTERS: Final = frozenset(one.name for one in fields(Filter))
_PAGES: Final[dict[str, Callable[[Snapshot, Range, Selection | None], Page]]] = {
    "executions": tables.executions_page,
    "graph_executions": lambda snapshot, positions, chosen: tables.graph_executions_page(
        snapshot, positions, chosen=chosen
    ),
}


class ListsOfRun(ValuesOfRun):
    """The long lists of a run; see :class:`~tb_debugger_plugin.reading.run.Run`."""

    def executions(
        self, *, sort: str | None = None, descending: bool = False, **filters: Any
    ) -> Rows[Execution]:
        """Returns what Python ran: eager ops and calls of functions.

        Use::

            run.executions(op_type="MatMul", health="bad")
            run.executions(sort="wall_time", descending=True)[0]

        Args:
          sort: The column to sort by: ``"wall_time"``, ``"num_inputs"`` or ``"num_outputs"``; None (the
            default) = in the order in which they ran. A sorted list has at most 10,000 rows.
          descending: Whether the largest comes first.
          **filters: What the rows must fulfil, as for :meth:`graph_executions`.

        Raises:
          BadQueryError: A filter is wrong. It is a ``ValueError``.
          UsageError: There is no such filter. It is a ``ValueError``.
        """
        return self._rows(Execution, "executions", _order(sort, descending, EXECUTION_ORDERS), filters)

    def graph_executions(
        self, *, sort: str | None = None, descending: bool = False, **filters: Any
    ) -> Rows[GraphExecution]:
        """Returns the tensors that were computed in graphs.

        Use::

            run.graph_executions(op_type="^Log$", where="nan>0")
            run.graph_executions(layer="dense_1", sort="max", descending=True)[:10]

        Args:
          sort: The column to sort by, such as ``"wall_time"``, ``"bytes"``, ``"nan"``, ``"max"``,
            ``"op_type"`` or ``"tensor_name"``; None (the default) = in the order in which they were computed.
            A sorted list has at most 10,000 rows.
          descending: Whether the largest comes first.
          **filters: What the rows must fulfil. Regular expressions that match any part of a name:
            ``op_name``, ``op_type``, ``function``, ``device``, ``layer``, ``variable``, ``gradient_of``;
            ``not_op_name`` must match none. Exact names: ``dtype``, ``host``. ``health``: ``"bad"``,
            ``"good"`` or ``"unmeasured"``. ``sites``: numbers of sites, as ``docs/schema.md`` has them.
            ``where``: comparisons such as ``"nan>0,size>=100"``. ``since``, ``until``: times in seconds.
            ``from_execution`` and ``until_execution``: positions of executions in which they were computed.
            ``source`` and ``line``: a source file of the stack, by a part of its path, and a line of it.

        Raises:
          BadQueryError: A filter is wrong. It is a ``ValueError``.
          UsageError: There is no such filter. It is a ``ValueError``.
        """
        order = _order(sort, descending, GRAPH_EXECUTION_ORDERS)
        return self._rows(GraphExecution, "graph_executions", order, filters)

    def graph_executions_at(
        self, positions: Sequence[int], *, sort: str | None = None, descending: bool = False
    ) -> Rows[GraphExecution]:
        """Returns some graph executions by their positions.

        Use::

            run.graph_executions_at([4, 1])

        Args:
          positions: Positions in the list of graph executions, each once.
          sort: As for :meth:`graph_executions`; None (the default) = in the given order.
          descending: Whether the largest comes first.

        Raises:
          BadQueryError: There is no such position. It is a ``ValueError``.
        """
        order = _order(sort, descending, GRAPH_EXECUTION_ORDERS)
        chosen = self._ask(select_at, "graph_executions", positions, order)

        def page(where: Range) -> Page:
            return self._ask(lambda snapshot: tables.graph_executions_page(snapshot, where, chosen=chosen))

        return Rows(self, GraphExecution, page, chosen.total, chosen.matching)

    def _rows(
        self, row_type: type[Row], table: str, order: Order | None, filters: dict[str, Any]
    ) -> Rows[Row]:
        page_of = _PAGES[table]

        def selection(snapshot: Snapshot) -> Selection | None:
            wanted = _filter(snapshot, filters)
            return None if wanted.is_empty and order is None else select(snapshot, table, wanted, order)

        def counts(snapshot: Snapshot) -> tuple[int, int | None]:
            chosen = selection(snapshot)
            if chosen is None:
                return int(getattr(snapshot, f"num_{table}")), None
            return chosen.total, chosen.matching

        def page(positions: Range) -> Page:
            return self._ask(lambda snapshot: page_of(snapshot, positions, selection(snapshot)))

        return Rows(self, row_type, page, *self._ask(counts))


def _order(column: str | None, descending: bool, columns: tuple[str, ...]) -> Order | None:
    if column is None:
        return None
    if column not in columns:
        raise UsageError(f"The rows cannot be sorted by {column!r}: choose one of {', '.join(columns)}.")
    return Order(column, descending)


def _filter(snapshot: Snapshot, filters: dict[str, Any]) -> Filter:
    unknown = sorted(filters.keys() - _FILTERS)
    if unknown:
        raise UsageError(f"There is no filter {unknown[0]!r}: choose from {', '.join(sorted(_FILTERS))}.")
    wanted = dict(filters)
    if wanted.get("health") not in (None, *HEALTH):
        raise UsageError(f"health is {wanted['health']!r}: choose one of {', '.join(HEALTH)}.")
    if isinstance(wanted.get("where"), str):
        wanted["where"] = parse_comparisons(wanted["where"])
    if isinstance(wanted.get("source"), str):
        wanted["source"] = _source_number(snapshot, wanted["source"])
    return Filter(**wanted)


def _source_number(snapshot: Snapshot, part: str) -> int:
    paths = [path for _, path in source_files.source_list(snapshot)]
    found = [number for number, path in enumerate(paths) if part in path]
    if len(found) != 1:
        shown = ", ".join(paths[number] for number in (found or range(len(paths)))[:5])
        count = "Several" if found else "No"
        raise NotFoundError(f"{count} source files have {part!r} in their paths, such as {shown}.")
    return found[0]
