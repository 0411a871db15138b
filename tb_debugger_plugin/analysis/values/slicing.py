"""NumPy's notation for slices, as text and as Python objects.

Takes ``"[:, 3, ::2]"`` or ``(slice(None), 3, slice(None, None, 2))`` and the shape of a tensor. Returns the
:class:`Slicing`, which says which elements are selected along each axis.

Invariant: a slicing selects the same elements in the same order as NumPy does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import EllipsisType
from typing import Final, SupportsIndex

from tb_debugger_plugin.analysis.snapshot import SqlRow
from tb_debugger_plugin.errors import BadQueryError

Index = int | slice | EllipsisType

_MAX_TEXT: Final = 2000
_NUMBER: Final = r"\s*([+-]?[0-9]{1,18})?\s*"
_INTEGER: Final = re.compile(r"\s*[+-]?[0-9]{1,18}\s*")
_RANGE: Final = re.compile(f"{_NUMBER}:{_NUMBER}(?::{_NUMBER})?")


@dataclass(frozen=True)
class Axis:
    """The elements that are selected along one axis.

    Attributes:
      first: The first one.
      step: From one to the next; not 0.
      count: Their number.
      is_kept: Whether the result has this axis; an index removes it.
    """

    first: int
    step: int
    count: int
    is_kept: bool = True

    def part(self, begin: int, end: int) -> Axis:
        """Return the axis with only some of its elements, by their position among them."""
        return replace(self, first=self.first + begin * self.step, count=end - begin)


@dataclass(frozen=True)
class Slicing:
    """The elements that are selected of a tensor.

    Attributes:
      dims: The shape of the tensor.
      axes: For each axis of the tensor, the elements.
    """

    dims: tuple[int, ...]
    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        return tuple(axis.count for axis in self.axes if axis.is_kept)

    @property
    def size(self) -> int:
        """The number of elements of the result."""
        return math.prod(axis.count for axis in self.axes)

    def window(self, *ranges: tuple[int, int]) -> Slicing:
        """Return a part of the result.

        Args:
          ranges: Begin and end along each axis of the result.
        """
        left = iter(ranges)
        axes = [axis.part(*next(left)) if axis.is_kept else axis for axis in self.axes]
        return replace(self, axes=tuple(axes))


def parse(text: str) -> tuple[Index, ...]:
    """Return the indices that a text means in NumPy.

    Args:
      text: Such as ``"[:, 3, ::2]"``, ``"..., -1"`` or ``""``; the brackets may be left out.

    Raises:
      BadQueryError: It is not NumPy's notation for integers, ranges and an ellipsis.
    """
    inner = text.strip()
    if inner.startswith("[") and inner.endswith("]"):
        inner = inner[1:-1].strip()
    if len(inner) > _MAX_TEXT:
        raise BadQueryError(f"The slice is longer than {_MAX_TEXT} characters.")
    if not inner:
        return ()
    parts = inner.removesuffix(",").split(",")
    return tuple(_index(part, text) for part in parts)


def _index(part: str, text: str) -> Index:
    if part.strip() == "...":
        return ...
    if _INTEGER.fullmatch(part):
        return int(part)
    found = _RANGE.fullmatch(part)
    if found is None:
        raise BadQueryError(
            f"{part.strip()[:50]!r} in the slice {text.strip()[:100]!r} is not NumPy's notation:"
            " write integers, ranges such as 2:10 or ::2, and ..., separated by commas."
        )
    return slice(*(None if number is None else int(number) for number in found.groups()))


def slicing_of(indices: SqlRow, dims: tuple[int, ...]) -> Slicing:
    """Return which elements some indices select.

    Args:
      indices: Integers, slices, and at most one ellipsis.
      dims: The shape of the tensor.

    Raises:
      BadQueryError: NumPy would refuse them too.
    """
    full = tuple(_without_ellipsis(indices, len(dims)))
    axes = [_axis(index, size, number) for number, (index, size) in enumerate(zip(full, dims, strict=True))]
    return Slicing(dims, tuple(axes))


def _without_ellipsis(indices: SqlRow, rank: int) -> Iterator[SupportsIndex | slice]:
    ellipses = sum(index is ... for index in indices)
    given = len(indices) - ellipses
    if ellipses > 1:
        raise BadQueryError("A slice has at most one ellipsis (...).")
    if given > rank:
        what = "is a scalar" if rank == 0 else f"has {rank} dimension{'s' * (rank > 1)}"
        raise BadQueryError(f"The slice has {given} indices, but the tensor {what}.")
    missing = [slice(None)] * (rank - given)
    for index in indices:
        if index is ...:
            yield from missing
        else:
            yield index
    if not ellipses:
        yield from missing


def _axis(index: SupportsIndex | slice, size: int, number: int) -> Axis:
    if isinstance(index, slice):
        if index.step == 0:
            raise BadQueryError("The step of a slice must not be 0.")
        try:
            found = range(*index.indices(size))
        except TypeError:
            raise BadQueryError(f"{index!r} is not a slice of integers.") from None
        return Axis(found.start, found.step, len(found))
    try:
        position = index.__index__()
    except (AttributeError, TypeError):
        raise BadQueryError(f"{index!r} is not an integer, a slice or an ellipsis.") from None
    if not -size <= position < size:
        raise BadQueryError(f"Index {position} is out of range for axis {number}, which has size {size}.")
    return Axis(position % size, 1, 1, is_kept=False)
