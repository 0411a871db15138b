"""A long list that is read page by page when its rows are shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar, overload

T = TypeVar("T")

_PAGE: Final = 200


class Pages(Sequence[T], Generic[T]):
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
        """Returns the number of rows."""
        return self._count

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> list[T]: ...

    def __getitem__(self, index: int | slice) -> T | list[T]:
        """Returns a row, or a list of rows.

        Raises:
          IndexError: There is no such row.
        """
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(self._count))]
        number = index + self._count if index < 0 else index
        if not 0 <= number < self._count:
            raise IndexError(f"There is no row {index}; there are {self._count}.")
        page, position = divmod(number, _PAGE)
        if self._kept[0] != page:
            self._kept = (page, self._read(page * _PAGE, min(self._count, (page + 1) * _PAGE)))
        return self._kept[1][position]
