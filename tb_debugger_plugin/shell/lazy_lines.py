"""Lines of a long list, made when they are shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from tb_debugger_plugin.reading.lazy_sequence import LazySequence
from tb_debugger_plugin.shell.screen import Line

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
