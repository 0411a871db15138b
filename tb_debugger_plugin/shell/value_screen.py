"""The screen of a value: its dtype and shape, and its elements in NumPy's style.

Takes a value that is recorded, fed or computed, a slice of it, and what is wanted. A long array shows its
edges, and then nothing else of it is read.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.values.changed_values import ChangedValueJson, changed_values
from tb_debugger_plugin.analysis.values.slicing import Axis, Slicing, parse, slicing_of
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.numbers import Array, widened
from tb_debugger_plugin.reading.value import Value
from tb_debugger_plugin.shell import numeric_summary
from tb_debugger_plugin.shell.array_lines import ArrayLines, Criterion, read_edges
from tb_debugger_plugin.shell.lazy_lines import LazyLines
from tb_debugger_plugin.shell.screen import Line, Part, Places, Screen, Style, link, plain
from tb_debugger_plugin.shell.times import byte_text

_NUMBER: Final = r"\s*([-+]?(?:inf|nan|\d+\.?\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?))\s*"
_RANGE: Final = re.compile(rf"\s*[\[(]{_NUMBER},{_NUMBER}[\])]\s*", re.IGNORECASE)


def criterion_of(ranges: str) -> Criterion:
    """Return what says which elements are in some ranges, with both ends.

    Args:
      ranges: Such as ``[-inf, 0]`` or ``[[-1, 0], [3, 4]]``.

    Raises:
      UsageError: It is none of these; or, later, the elements are no real numbers.
    """
    bounds = _bounds(ranges)

    def chosen(values: Array) -> npt.NDArray[np.bool_]:
        numbers = widened(values)
        if numbers.dtype.kind not in "fiub":
            raise UsageError("-r highlights numbers; the elements of this tensor are none, or complex.")
        found = np.zeros(numbers.shape, bool)
        for low, high in bounds:
            found |= (numbers >= low) & (numbers <= high)
        return found

    return chosen


def _bounds(text: str) -> list[tuple[float, float]]:
    inner = text.strip()
    if re.match(r"[\[(]\s*[\[(]", inner):
        inner = inner[1:-1]
    bounds, at = [], 0
    while match := _RANGE.match(inner, at):
        bounds.append((float(match[1]), float(match[2])))
        at = match.end()
        if inner[at : at + 1] == ",":
            at += 1
    if not bounds or at != len(inner):
        raise UsageError(f'-r {text}: write a range such as "[-inf, 0]", or several as "[[-1, 0], [3, 4]]".')
    return bounds


def add_value_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `pt` and `pf`."""
    add_display_options(parser)
    parser.add_argument(
        "-r", "--ranges", metavar="RANGES", help='highlight numbers: "[-inf, 0]", or "[[-1, 0], [3, 4]]"'
    )
    parser.add_argument("-s", "--numeric_summary", action="store_true", help="count and measure the elements")


def add_display_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command that shows an array."""
    parser.add_argument("-a", "--all", action="store_true", help="all elements, also of a long array")
    parser.add_argument("-w", "--write_path", metavar="PATH", help="write the array as a file .npy")


def wanted(args: argparse.Namespace, slicing: str = "") -> Wanted:
    """Return what the options of a command line want.

    Args:
      args: The command line.
      slicing: The slice.
    """
    return Wanted(slicing, args.all, args.ranges, args.numeric_summary, args.write_path)


def typed_options(args: argparse.Namespace) -> str:
    """Return ``-a`` and ``-s`` as they were typed, for links to a value."""
    return (" -a" if args.all else "") + (" -s" if args.numeric_summary else "")


def record_changes(changes: Iterable[Mapping[str, object]], **record: int) -> list[Line]:
    """Return a line for each change of a record.

    Use::

        record_changes(run.changed_values(), graph_execution=12)
        record_changes(run.changed_values(), execution=5, slot=0)

    Args:
      changes: The changes of the run.
      **record: What the facts of a change are if it is one of the record.
    """
    return [
        plain(f"  changed: the ops after it got {one['expression']}")
        for one in changes
        if all(one[name] == value for name, value in record.items())
    ]


def op_changes(snapshot: Snapshot, op: Op) -> list[Line]:
    """Return a line for each change of a tensor of an op, with a way to the value before."""
    graph_id = snapshot.catalog.graphs[op.graph].graph_id
    return [
        (Part("  Changed: "), _before(one), Part(f" to {one['expression']}"))
        for one in changed_values(snapshot)
        if (one["graph_id"], one["op_name"]) == (graph_id, op.name)
    ]


def _before(one: ChangedValueJson) -> Part:
    name = f"{one['op_name']}:{one['slot']}"
    return Part(name) if one["graph_execution"] is None else link(name, f"pt #{one['graph_execution']}")


#: Elements of an array that is shown whole, as in tfdbg.
THRESHOLD: Final = 2000
#: Elements that are read at once.
_MOST: Final = 1 << 28


class Wanted(NamedTuple):
    """What is wanted of a value.

    Attributes:
      slicing: The slice in NumPy's notation; empty for all.
      is_whole: Whether a long array is shown whole.
      ranges: Ranges of numbers to highlight, such as ``[[-inf, 0], [3, 4]]``; None for none.
      has_summary: Whether the numeric summary is shown.
      path: The file ``.npy`` to write; None for none.
    """

    slicing: str = ""
    is_whole: bool = False
    ranges: str | None = None
    has_summary: bool = False
    path: str | None = None


class Source(Protocol):
    """A value that can be read in parts."""

    @property
    def dtype(self) -> str:
        """The name of the dtype."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        ...

    def read(self, slicing: Slicing) -> Array:
        """Return a slice."""
        ...


@dataclass(frozen=True)
class ArraySource:
    """An array in memory."""

    array: Array

    @property
    def dtype(self) -> str:
        """The name of the dtype."""
        return str(self.array.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self.array.shape

    def read(self, slicing: Slicing) -> Array:
        """Return a slice."""
        return np.asarray(self.array[_indices(slicing)])


def _indices(slicing: Slicing) -> tuple[int | slice, ...]:
    return tuple(_along(axis) if axis.is_kept else axis.first for axis in slicing.axes)


def _along(axis: Axis) -> slice:
    if not axis.count:
        return slice(0, 0)
    end = axis.first + axis.step * axis.count
    # A negative end would count from the end of the axis.
    return slice(axis.first, None if end < 0 else end, axis.step)


@dataclass(frozen=True)
class RecordedSource:
    """A value of a recording, whose elements are kept."""

    value: Value

    @property
    def dtype(self) -> str:
        """The name of the dtype."""
        return "object" if self.value.dtype == "string" else self.value.dtype or "?"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self.value.shape or ()

    def read(self, slicing: Slicing) -> Array:
        """Return a slice."""
        return self.value[_indices(slicing)]


def value_screen(
    label: str, source: Source, wanted: Wanted, note: str = "", more: Sequence[Line] = ()
) -> Screen:
    """Return the screen of a value.

    Args:
      label: What it is called.
      source: The value.
      wanted: What is wanted of it.
      note: What is said after its name and slice.
      more: Lines below its shape.

    Raises:
      BadQueryError: The slice is wrong.
      NotFoundError: The elements cannot be read.
      UsageError: A range to highlight is wrong, or too many elements are wanted.
      OSError: The file cannot be written.
    """
    slicing = slicing_of(parse(wanted.slicing), source.shape)
    criterion = None if wanted.ranges is None else criterion_of(wanted.ranges)
    needs_all = wanted.has_summary or wanted.path is not None or criterion is not None
    is_long = slicing.size > THRESHOLD and not wanted.is_whole
    whole = _read_all(source, slicing) if needs_all or not is_long else None
    shown = _edges(source, slicing, whole) if is_long else whole
    assert shown is not None  # one of the two was read
    lines = ArrayLines(shown, slicing.shape, dtype=source.dtype, highlighted=criterion)
    title = f'Tensor "{label}{wanted.slicing}{note}":'
    head: list[Line] = [_title(title, whole, criterion, wanted.ranges)]
    head += [plain(f"  dtype: {source.dtype}"), plain(f"  shape: {slicing.shape}"), *more, ()]
    if wanted.path is not None and whole is not None:
        head += [_saved(whole, wanted.path), ()]
    if wanted.has_summary and whole is not None:
        head += [plain("Numeric summary:"), *numeric_summary.of_array(whole), ()]
    return array_screen(head, lines)


def array_screen(head: Sequence[Line], lines: ArrayLines) -> Screen:
    """Return a screen with some lines and an array below them."""
    above = len(head)
    places = Places(
        lambda indices: above + lines.line_of(indices),
        lambda line: lines.indices_at(line - above),
        lines.is_left_out,
    )
    return Screen(LazyLines(head, lines, lambda line: line), places=places)


def unkept_screen(value: Value, more: Sequence[Line] = ()) -> Screen:
    """Return the screen of a value whose elements are not kept: why, and what is on record."""
    shape = "?" if value.shape is None else str(value.shape)
    lines = [
        plain(f'Tensor "{value.name}":', Style.HEADING),
        plain(f"  dtype: {value.dtype or '?'}"),
        plain(f"  shape: {shape}"),
        *more,
        (),
        plain(value.reason or "", Style.MUTED),
        (),
        plain("Numeric summary:"),
        *numeric_summary.of_record(value.summary),
    ]
    return Screen(lines)


def _title(title: str, whole: Array | None, criterion: Criterion | None, ranges: str | None) -> Line:
    if criterion is None or whole is None:
        return plain(title, Style.HEADING)
    count, total = int(np.count_nonzero(criterion(whole))), whole.size
    share = 100 * count / total if total else 0.0
    text = f"Highlighted({ranges}): {count} of {total} element(s) ({share:.2f}%)"
    return (Part(f"{title} ", Style.HEADING), Part(text, Style.HIGHLIGHT))


def _read_all(source: Source, slicing: Slicing) -> Array:
    if slicing.size > _MOST:
        raise UsageError(
            f"The tensor has {slicing.size:,} elements; take a slice, or leave -a, -r, -s and -w out."
        )
    return source.read(slicing)


def _edges(source: Source, slicing: Slicing, whole: Array | None) -> Array:
    if whole is not None:
        return read_edges(slicing.shape, whole.__getitem__)
    return read_edges(
        slicing.shape, lambda parts: source.read(slicing.window(*((one.start, one.stop) for one in parts)))
    )


def _saved(array: Array, text: str) -> Line:
    if array.dtype.kind == "O":
        raise UsageError("Strings have no place in a .npy file; `> FILE` writes the lines.")
    path = Path(text).expanduser()
    with path.open("wb") as stream:
        np.save(stream, widened(array), allow_pickle=False)
    return plain(f"Saved value to: {path} ({byte_text(path.stat().st_size)}B)")
