"""Which rows of a long list a user of Python asks for: filters by name, and an order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final

from tb_debugger_plugin.analysis.lists import tables
from tb_debugger_plugin.analysis.lists.filters import HEALTH, Filter, Order, parse_comparisons
from tb_debugger_plugin.analysis.lists.selection import Selection, select
from tb_debugger_plugin.analysis.lists.tables import Page
from tb_debugger_plugin.analysis.snapshot import Range, Snapshot
from tb_debugger_plugin.analysis.source import sources as source_files
from tb_debugger_plugin.errors import NotFoundError, UsageError

_FILTERS: Final = frozenset(one.name for one in fields(Filter))
_PAGES: Final[dict[str, Callable[[Snapshot, Range, Selection | None], Page]]] = {
    "executions": tables.executions_page,
    "graph_executions": lambda snapshot, positions, chosen: tables.graph_executions_page(
        snapshot, positions, chosen=chosen
    ),
}


def counts_of(
    snapshot: Snapshot, table: str, order: Order | None, filters: dict[str, Any]
) -> tuple[int, int | None]:
    """Return how many rows a list has, and how many match; None for the second if all do."""
    chosen = _selection(snapshot, table, order, filters)
    if chosen is None:
        return int(getattr(snapshot, f"num_{table}")), None
    return chosen.total, chosen.matching


def page_of(
    snapshot: Snapshot, table: str, order: Order | None, filters: dict[str, Any], positions: Range
) -> Page:
    """Return some rows of a list."""
    return _PAGES[table](snapshot, positions, _selection(snapshot, table, order, filters))


def _selection(
    snapshot: Snapshot, table: str, order: Order | None, filters: dict[str, Any]
) -> Selection | None:
    wanted = _filter(snapshot, filters)
    return None if wanted.is_empty and order is None else select(snapshot, table, wanted, order)


def order_of(column: str | None, descending: bool, columns: tuple[str, ...]) -> Order | None:
    """Return the order by a column of a list.

    Raises:
      UsageError: The rows cannot be sorted by it.
    """
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
