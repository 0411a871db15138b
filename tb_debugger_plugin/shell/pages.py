"""A long list that is read page by page when its rows are shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from tb_debugger_plugin.reading.lazy_sequence import LazySequence

T = TypeVar("T")

_PAGE: Final = 200


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
