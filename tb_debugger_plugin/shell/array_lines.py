"""The lines of an array in NumPy's style, made when they are shown.

Takes an array, or its edges. Each line has the same number of elements, so the indices of a line and the line
of an element follow by arithmetic: an array of ten million elements costs nothing until a line is shown.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.numbers import Array, widened
from tb_debugger_plugin.reading.lazy_sequence import LazySequence
from tb_debugger_plugin.shell.element_texts import element_texts
from tb_debugger_plugin.shell.screen import Line, Part, Style

#: Says which elements of a part of an array are highlighted.
Criterion = Callable[[Array], npt.NDArray[np.bool_]]

#: Elements at each end of an axis that is shown in part.
EDGE: Final = 3
#: Columns of a line, as in NumPy.
_COLUMNS: Final = 74
_BEGIN: Final = "array("
_GAP: Final = "..."
#: Dtypes that NumPy does not name.
_USUAL: Final = ("int64", "float64", "complex128", "bool")


@dataclass(frozen=True)
class _Axis:
    """The entries of an axis: its indices; or those at the edges, with a gap between them.

    Attributes:
      size: The size of the axis.
      is_cut: Whether only the edges are shown.
    """

    size: int
    is_cut: bool

    @property
    def count(self) -> int:
        return 2 * EDGE + 1 if self.is_cut else self.size

    def is_gap(self, entry: int) -> bool:
        return self.is_cut and entry == EDGE

    def index(self, entry: int) -> int:
        """Return the index in the whole array; for the gap, the first one that is left out."""
        return entry if not self.is_cut or entry <= EDGE else self.size - self.count + entry

    def position(self, entry: int) -> int:
        """Return the index among the elements that are there."""
        return entry - 1 if self.is_cut and entry > EDGE else entry

    def entry(self, index: int) -> int:
        """Return the entry that shows an index."""
        if not self.is_cut or index < EDGE:
            return index
        return max(EDGE, index - self.size + self.count)


class _Place(NamedTuple):
    """What a line shows: a part of a row, or the gap of an axis.

    Attributes:
      entries: The entries of the outer axes; with a gap, up to the gap.
      part: Which part of the row; None for a gap.
    """

    entries: tuple[int, ...]
    part: int | None


def edges_of(shape: Sequence[int]) -> list[tuple[slice, ...]]:
    """Return the slices of each axis that its edges are.

    Args:
      shape: The shape of an array.
    """
    return [
        (slice(0, EDGE), slice(size - EDGE, size)) if size > 2 * EDGE else (slice(0, size),) for size in shape
    ]


def read_edges(shape: Sequence[int], read: Callable[[tuple[slice, ...]], Array]) -> Array:
    """Return the elements at the edges of an array, as one array.

    Args:
      shape: The shape of the array.
      read: Returns a part of it.
    """

    def joined(chosen: tuple[slice, ...], left: Sequence[tuple[slice, ...]]) -> Array:
        if not left:
            return read(chosen)
        parts = [joined((*chosen, one), left[1:]) for one in left[0]]
        return np.concatenate(parts, axis=len(chosen)) if len(parts) > 1 else parts[0]

    return joined((), edges_of(shape))


class ArrayLines(LazySequence[Line]):
    """The lines of an array.

    Args:
      array: The elements that can be shown: all, or the edges of each axis.
      shape: The shape of the whole array; None if all elements are there.
      dtype: The name of the dtype; None for that of the array.
      highlighted: Says which elements are highlighted; None for none.
    """

    def __init__(
        self,
        array: Array,
        shape: Sequence[int] | None = None,
        *,
        dtype: str | None = None,
        highlighted: Criterion | None = None,
    ) -> None:
        self._array = array
        self._shape = tuple(array.shape if shape is None else shape)
        self._highlighted = highlighted
        there = zip(self._shape, array.shape, strict=True)
        self._axes = [_Axis(size, size != count) for size, count in there]
        name = str(array.dtype) if dtype is None else dtype
        self._end = ")" if name in _USUAL and array.size else f", dtype={name})"
        self._texts = element_texts(array)
        # A line has the brackets and ", " between elements.
        space = _COLUMNS - len(_BEGIN) - 2 * array.ndim
        self._in_line = max(1, (space + 2) // (self._texts.width + 2))
        self._heights = self._all_heights()

    def _all_heights(self) -> list[int]:
        """Return the lines of a block inside each axis, the whole array first."""
        if not self._axes:
            return [1]
        heights = [1, -(-self._axes[-1].count // self._in_line)]
        for number in range(len(self._axes) - 2, -1, -1):
            axis = self._axes[number]
            blocks = (axis.count - axis.is_cut) * heights[-1] + axis.is_cut
            heights.append(blocks + (axis.count - 1) * self._blank(number))
        return heights[::-1]

    def _blank(self, axis: int) -> int:
        """Return the empty lines between the blocks of an axis."""
        return len(self._axes) - 2 - axis

    def __len__(self) -> int:
        """Return the number of lines."""
        return self._heights[0] if self._array.size else 1

    def line_of(self, indices: tuple[int, ...]) -> int:
        """Return the line of an element; the line of the gap for one that is left out.

        Raises:
          UsageError: There is no such element.
        """
        fits = len(indices) == len(self._shape)
        if not fits or any(not 0 <= one < size for one, size in zip(indices, self._shape, strict=True)):
            raise UsageError(f"There is no element {list(indices)} in an array of shape {self._shape}.")
        line = 0
        for number, index in enumerate(indices[:-1]):
            axis = self._axes[number]
            entry, blank = axis.entry(index), self._blank(number)
            line += entry * (self._heights[number + 1] + blank)
            if axis.is_gap(entry):
                return line
            if axis.is_cut and entry > EDGE:
                line -= self._heights[number + 1] - 1
        return line + (self._axes[-1].entry(indices[-1]) // self._in_line if indices else 0)

    def is_left_out(self, indices: tuple[int, ...]) -> bool:
        """Whether an element of the array is in a gap."""
        return any(axis.is_gap(axis.entry(one)) for axis, one in zip(self._axes, indices, strict=True))

    def indices_at(self, line: int) -> tuple[int, ...] | None:
        """Return the indices of the first element of a line; None for a line without elements."""
        if not self._array.size or not 0 <= line < len(self):
            return None
        if not self._axes:
            return ()
        place = self._place(line)
        if place is None or place.part is None:
            return None
        last = place.part * self._in_line
        entries = (*place.entries, last + self._axes[-1].is_gap(last))
        return tuple(axis.index(entry) for axis, entry in zip(self._axes, entries, strict=True))

    def _place(self, line: int) -> _Place | None:
        """Return what a line shows; None for an empty line."""
        entries: list[int] = []
        for number, axis in enumerate(self._axes[:-1]):
            height, blank = self._heights[number + 1], self._blank(number)
            entry, line = _divided(axis, line, height + blank, 1 + blank)
            entries.append(entry)
            if axis.is_gap(entry):
                return _Place(tuple(entries), None) if line == 0 else None
            if line >= height:
                return None
        return _Place(tuple(entries), line)

    def _at(self, number: int) -> Line:
        if not self._array.size:
            shape = f", shape={self._shape}" if len(self._shape) != 1 else ""
            return (Part(f"{_BEGIN}[]{shape}{self._end}"),)
        if not self._axes:
            return _merged([Part(_BEGIN), *self._elements(self._array.reshape(1)), Part(self._end)])
        place = self._place(number)
        if place is None:
            return ()
        if place.part is None:
            return (Part(" " * (len(_BEGIN) + len(place.entries)) + f"{_GAP},"),)
        return self._row(number, place.entries, place.part)

    def _row(self, line: int, entries: tuple[int, ...], part: int) -> Line:
        last = self._axes[-1]
        begin, end = part * self._in_line, min(last.count, (part + 1) * self._in_line)
        opened = 0 if part else 1 + _run(entry == 0 for entry in reversed(entries))
        ends = [entry == axis.count - 1 for entry, axis in zip(entries, self._axes[:-1], strict=True)]
        closed = 1 + _run(reversed(ends)) if end == last.count else 0
        left = (_BEGIN if line == 0 else " " * len(_BEGIN)) + " " * (len(self._axes) - opened) + "[" * opened
        right = self._end if closed == len(self._axes) else ","
        row = self._array[tuple(axis.position(e) for axis, e in zip(self._axes, entries, strict=False))]
        parts = self._entries(row, range(begin, end))
        return _merged([Part(left), *parts, Part("]" * closed + right)])

    def _entries(self, row: Array, entries: range) -> list[Part]:
        last = self._axes[-1]
        shown = [last.position(entry) for entry in entries if not last.is_gap(entry)]
        # The positions follow each other: a gap has none.
        parts = iter(self._elements(row[shown[0] : shown[-1] + 1] if shown else row[:0]))
        texts = [Part(_GAP) if last.is_gap(entry) else next(parts) for entry in entries]
        separated = itertools.chain.from_iterable((Part(", "), text) for text in texts)
        return list(separated)[1:]

    def _elements(self, values: Array) -> list[Part]:
        styles = self._styles(values)
        return [Part(text, style) for text, style in zip(self._texts.texts(values), styles, strict=True)]

    def _styles(self, values: Array) -> list[Style]:
        plain = widened(values)
        bad = ~np.isfinite(plain) if plain.dtype.kind in "fc" else np.zeros(plain.shape, bool)
        styles = [Style.BAD if one else Style.PLAIN for one in bad]
        if self._highlighted is not None:
            chosen = self._highlighted(values)
            styles = [Style.HIGHLIGHT if one else old for one, old in zip(chosen, styles, strict=True)]
        return styles


def _divided(axis: _Axis, line: int, step: int, gap_step: int) -> tuple[int, int]:
    """Return the entry of an axis in which a line is, and the line in it."""
    before = EDGE * step
    if not axis.is_cut or line < before:
        return divmod(line, step)
    if line < before + gap_step:
        return EDGE, line - before
    entry, rest = divmod(line - before - gap_step, step)
    return EDGE + 1 + entry, rest


def _run(flags: Iterable[object]) -> int:
    """How many flags are true before the first that is not."""
    return sum(1 for _ in itertools.takewhile(bool, flags))


def _merged(parts: Sequence[Part]) -> Line:
    """Return parts with neighbours of one style joined."""
    groups = itertools.groupby(parts, key=lambda part: part.style)
    return tuple(Part("".join(part.text for part in group), style) for style, group in groups)
