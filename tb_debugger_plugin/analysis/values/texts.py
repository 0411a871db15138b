"""Elements as exact texts, for tables and command lines."""

from __future__ import annotations

from typing import Final

from tb_debugger_plugin.analysis.values.elements import read_slice
from tb_debugger_plugin.analysis.values.slicing import Slicing
from tb_debugger_plugin.analysis.values.tiles import check_flat
from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.index.stored_tensor import StoredElements

#: Characters of the text of one element; a longer string is cut.
_MAX_TEXT: Final = 200


def element_text(value: object) -> str:
    """Return the shortest text that stands for this element and no other; a Python literal for a string."""
    if not isinstance(value, bytes):
        return str(value)
    literal = repr(_decoded(value[: 4 * _MAX_TEXT]))
    return literal if len(literal) <= _MAX_TEXT else f"{literal[: _MAX_TEXT - 1]}…"


def _decoded(value: bytes) -> str | bytes:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value


def cells(
    elements: StoredElements, slicing: Slicing, *, row: int, column: int, rows: int, columns: int
) -> list[list[str]]:
    """Return the texts of a window of a slice.

    Args:
      elements: The elements of the tensor.
      slicing: Which of them; at most two dimensions are left. A vector is one row.
      row: The first row of the window.
      column: The first column.
      rows: The most rows.
      columns: The most columns.

    Raises:
      BadQueryError: The slice has more than two dimensions, or the window begins outside.
      FormatError: The file has changed.
    """
    shape = (1, 1, *check_flat(slicing))[-2:]
    ranges = (_range("row", row, rows, shape[0]), _range("column", column, columns, shape[1]))
    window = slicing.window(*ranges[2 - len(slicing.shape) :])
    values = read_slice(elements, window).reshape([end - begin for begin, end in ranges])
    return [[element_text(value) for value in line] for line in values]


def _range(what: str, begin: int, count: int, size: int) -> tuple[int, int]:
    if begin > size:
        raise BadQueryError(f"{what} is {begin}, but the slice has only {size} {what}s.")
    return begin, min(size, begin + count)
