"""Short tables: columns as wide as their cells, with links in cells and heads."""

from __future__ import annotations

from collections.abc import Sequence

from tb_debugger_plugin.shell.screen import Line, Part

_GAP = 2


def table(rows: Sequence[Sequence[Part]]) -> list[Line]:
    """Return the lines of a table.

    Args:
      rows: The cells of each row; the first row is the head. All rows have as many cells.
    """
    widths = [max(len(row[column].text) for row in rows) for column in range(len(rows[0]))] if rows else []
    return [_line(row, widths) for row in rows]


def _line(row: Sequence[Part], widths: Sequence[int]) -> Line:
    parts: list[Part] = []
    for cell, width in zip(row[:-1], widths, strict=False):
        # The padding is no part of the link.
        parts += [cell, Part(" " * (width - len(cell.text) + _GAP))]
    return (*parts, row[-1])
