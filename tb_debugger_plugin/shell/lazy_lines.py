"""Lines of a long list, made when they are shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from tb_debugger_plugin.reading.lazy_sequence import LazySequence
from tb_debugger_plugin.shell.screen import Line

_PAGE: Final = 200

T = TypeVar("T")


class LazyLines(LazySequence[Line], Generic[T]):
    """A few lines, and one for each row of a list.

    Args:
      head: The first lines.
      rows: The rows; a slice of them reads what it needs.
      line_of: Makes the line of a row.
    """

    def __init__(self, head: Sequence[Line], rows: Sequence[T], line_of: Callable[[T], Line]) -> None:
        self._head = head
        self._rows = rows
        self._line_of = line_of

    def __len__(self) -> int:
        """Return the number of lines."""
        return len(self._head) + len(self._rows)

    def _at(self, number: int) -> Line:
        """Return a line."""
        if number < len(self._head):
            return self._head[number]
        return self._line_of(self._rows[number - len(self._head)])


class Pages(LazySequence[T]):
    """A list of which one page is in memory.

    Args:
      count: The number of rows.
      read: Returns the rows from one position to another one, which is exclusive.
    """

    def __init__(self, count: int, read: Callable[[int, int], Sequence[T]]) -> None:
        self._count = count
        self._read = read
        self._kept: tuple[int, Sequence[T]] = (-1, ())

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._count

    def _at(self, number: int) -> T:
        """Return a row; reads its page unless that was read last."""
        page, position = divmod(number, _PAGE)
        if self._kept[0] != page:
            self._kept = (page, self._read(page * _PAGE, min(self._count, (page + 1) * _PAGE)))
        return self._kept[1][position]
