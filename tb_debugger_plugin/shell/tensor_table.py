"""The rows of `lt` as lines: columns of widths that fit a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from tb_debugger_plugin.reading.lazy_sequence import LazySequence
from tb_debugger_plugin.reading.rows import GraphExecution
from tb_debugger_plugin.reading.run import Run
from tb_debugger_plugin.shell.screen import Line, Part, Style, link
from tb_debugger_plugin.shell.times import byte_text

TIME_WIDTH: Final = 12
SIZE_WIDTH: Final = 10
#: A longer name of a function or a type moves the rest of its line.
_MOST_WIDTH: Final = 40


class Columns(NamedTuple):
    """The widths of columns; 0 for one that is left out."""

    op_type: int
    function: int


def columns_of(run: Run) -> Columns:
    """Return the widths of the columns for the tensors of a run."""
    with run.snapshot() as snapshot:
        catalog = snapshot.catalog

        def widths() -> Columns:
            names = {catalog.graphs[site.graph].name or "" for site in catalog.sites}
            types = {catalog.ops[site.op].type or "?" for site in catalog.sites}
            return Columns(_width("Op type", types), _width("Function", names) if len(names) > 1 else 0)

        return snapshot.remember_of_sites("columns of lt", widths)


def _width(head: str, texts: Iterable[str]) -> int:
    return min(_MOST_WIDTH, max(map(len, (head, *texts)))) + 2


def line_of(row: GraphExecution, begin: float, columns: Columns) -> Line:
    """Return the line of a tensor.

    Args:
      row: The tensor.
      begin: The moment from which milliseconds are counted, in seconds since the epoch.
      columns: The widths.
    """
    cells = [
        _cell(f"[{(row.wall_time - begin) * 1e3:.3f}]", TIME_WIDTH),
        _cell(byte_text(row.bytes), SIZE_WIDTH),
        _cell(row.op_type or "?", columns.op_type),
    ]
    if columns.function:
        cells.append(_cell(row.function or "", columns.function))
    style = Style.BAD if row.health == "bad" else Style.PLAIN
    return (*map(Part, cells), link(row.name, f"pt #{row.index}", style))


def _cell(text: str, width: int) -> str:
    return text.ljust(width) if len(text) < width else f"{text} "


class Backwards(LazySequence[GraphExecution]):
    """The rows of a list from its end."""

    def __init__(self, rows: Sequence[GraphExecution]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    def _at(self, number: int) -> GraphExecution:
        """Return a row."""
        return self._rows[len(self) - 1 - number]
