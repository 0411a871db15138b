"""Lines of a long list, made when they are shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, overload

from tb_debugger_plugin.shell.screen import Line

T = TypeVar("T")


class LazyLines(Sequence[Line], Generic[T]):
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
        """Returns the number of lines."""
        return len(self._head) + len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Line: ...

    @overload
    def __getitem__(self, index: slice) -> list[Line]: ...

    def __getitem__(self, index: int | slice) -> Line | list[Line]:
        """Returns a line, or a list of lines.

        Raises:
          IndexError: There is no such line.
        """
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = index + len(self) if index < 0 else index
        if number < len(self._head):
            return self._head[number]
        return self._line_of(self._rows[number - len(self._head)])
