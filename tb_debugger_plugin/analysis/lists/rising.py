"""Long columns of numbers that never fall, in memory with half of their bytes or less.

Takes arrays, one after the other. A column is searched and read like a sorted array. It is kept in parts,
each as its first number and the distances from it, in the narrowest type that has them all. Numbers that
follow each other without a gap need no distances.

Invariant: each number is given back exactly as it came. A time of this century is a multiple of 2**-22
seconds, because a float64 has no finer ones there, so that its distance is a whole number of those. Parts
with other times are kept as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from tb_debugger_plugin.events.numbers import Array, Integers

Side = Literal["left", "right"]

#: Numbers of a part.
_PART: Final = 1 << 15
#: The least time that is a multiple of a tick, and ticks of a second.
_FIRST_TICK: Final = 2.0**30
_TICKS: Final = 2.0**22
#: The types of distances; what they do not have is kept as it is.
_NARROW: Final = (np.uint8, np.uint16, np.uint32)


@dataclass(frozen=True)
class _Part:
    """Numbers that follow each other in a column.

    Attributes:
      base: The first of them, or 0 where they are kept as they are.
      count: How many they are.
      distances: Of each, how many units it is above the base; None for 0, 1, 2 and so on.
      units: Units of a 1.
    """

    base: float | int
    count: int
    distances: Array | None
    units: float | int

    @property
    def is_as_it_came(self) -> bool:
        """Whether the distances are the numbers themselves."""
        return self.distances is not None and self.distances.dtype.itemsize == 8

    def at(self, rows: Array) -> Array:
        """Return the numbers of rows, which count from the first one of the part."""
        distances = rows if self.distances is None else self.distances[rows]
        if isinstance(self.base, int):
            return np.asarray(self.base + distances.astype(np.int64))
        return np.asarray(self.base + distances / self.units)

    def find(self, wanted: Array, side: Side) -> Array:
        """Return where numbers belong; none of them is above the last number."""
        if self.is_as_it_came:
            return np.searchsorted(self.distances, wanted, side)  # type: ignore[arg-type]
        # Of what lies far below, the distance would not be a number.
        above = (np.maximum(wanted, self.base) - self.base) * self.units
        if self.distances is None:
            found = np.minimum(above + (side == "right"), self.count)
        else:
            found = np.searchsorted(self.distances, above.astype(self.distances.dtype), side)
        return np.where(wanted < self.base, 0, found)


class Rising:
    """A column; complete when the last array was added.

    Args:
      dtype: float64 or int64. Integers must rise, and numbers must not be infinite or NaN.
    """

    def __init__(self, dtype: type[np.float64] | type[np.int64]) -> None:
        self._dtype = dtype
        self._parts: list[_Part] = []
        self._starts: list[int] = [0]
        self._lasts: list[float | int] = []

    def __len__(self) -> int:
        return self._starts[-1]

    def add(self, numbers: Array) -> None:
        """Add numbers, none of which is below the last one."""
        for begin in range(0, len(numbers), _PART):
            piece = numbers[begin : begin + _PART]
            self._parts.append(_part(piece))
            self._starts.append(self._starts[-1] + len(piece))
            self._lasts.append(piece[-1].item())

    @property
    def first(self) -> float | int:
        """The first number; there must be one."""
        return self._parts[0].at(np.zeros(1, np.int64))[0].item()  # type: ignore[no-any-return]

    @property
    def last(self) -> float | int:
        """The last number; there must be one."""
        return self._lasts[-1]

    def __getitem__(self, rows: Integers) -> Array:
        """Return the numbers of rows."""
        result = np.empty(len(rows), self._dtype)
        for number, own in self._by_part(np.searchsorted(self._starts, rows, side="right") - 1):
            result[own] = self._parts[number].at(rows[own] - self._starts[number])
        return result

    def whole(self) -> Array:
        """Return all numbers."""
        return self[np.arange(len(self))]

    def find(self, wanted: Array, side: Side = "left") -> Integers:
        """Return where numbers belong, as :func:`numpy.searchsorted` does."""
        result = np.full(len(wanted), len(self), np.int64)
        for number, own in self._by_part(np.searchsorted(self._lasts, wanted, side)):
            result[own] = self._starts[number] + self._parts[number].find(wanted[own], side)
        return result

    def has(self, wanted: Array) -> Array:
        """Return which of some numbers are in the column."""
        rows = self.find(wanted)
        is_there = rows < len(self)
        is_there[is_there] = self[rows[is_there]] == wanted[is_there]
        return is_there

    def _by_part(self, parts: Integers) -> Iterator[tuple[int, Array]]:
        """Yield the parts among some numbers, and where each is; numbers of no part are left out."""
        order = np.argsort(parts, kind="stable")
        cuts = np.searchsorted(parts[order], np.arange(len(self._parts) + 1))
        for number in np.flatnonzero(np.diff(cuts)).tolist():
            yield number, order[cuts[number] : cuts[number + 1]]


def _part(numbers: Array) -> _Part:
    base, last, count = numbers[0].item(), numbers[-1].item(), len(numbers)
    is_integer = isinstance(base, int)
    if is_integer and last - base == count - 1:
        return _Part(base, count, None, 1)
    units = 1 if is_integer else _TICKS
    is_whole = is_integer or base >= _FIRST_TICK
    span = (last - base) * units if is_whole else np.inf
    for dtype in _NARROW:
        if span <= np.iinfo(dtype).max:
            return _Part(base, count, ((numbers - base) * units).astype(dtype), units)
    return _Part(base * 0, count, numbers.copy(), 1)
