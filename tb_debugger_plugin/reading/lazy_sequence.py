"""Sequences whose elements are made when they are asked for: rows of tables, and lines that show them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, TypeVar, overload

T = TypeVar("T")


class LazySequence(Sequence[T]):
    """A sequence of which a subclass says how long it is, and what is at a position.

    Attributes:
      _NOUN: What an element is called in an error.
    """

    _NOUN: ClassVar[str] = "element"

    @abstractmethod
    def _at(self, number: int) -> T:
        """Return an element.

        Args:
          number: Its position, from 0 to the length of the sequence without that.
        """

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> list[T]: ...

    def __getitem__(self, index: int | slice) -> T | list[T]:
        """Return an element, or a list of elements; negative positions count from the end.

        Raises:
          IndexError: There is no such position.
        """
        if isinstance(index, slice):
            return [self._at(number) for number in range(*index.indices(len(self)))]
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(f"There is no {self._NOUN} {index}; there are {len(self)}.")
        return self._at(number)
