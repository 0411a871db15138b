"""Recognises traces that are like an earlier one, without parsing them.

Almost all records of an op are equal except for the time, the step and the numbers of the summary. So the
first record of each op is parsed and becomes a template. All other records are compared with the templates at
once: by the compiled library, or else by NumPy, as rows of one matrix per record length.

Invariant: :class:`CompiledTemplates` and :class:`NumpyTemplates` are twins; the result of either is the
result of parsing the records.
"""

from __future__ import annotations

import ctypes
import secrets
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.messages import Message, parse_event
from tb_debugger_plugin.events.modes import SUMMARY_COLUMNS, TensorDebugMode
from tb_debugger_plugin.events.numbers import Array, Integers
from tb_debugger_plugin.index.frames import RecordFrames, load_library
from tb_debugger_plugin.index.records import INT32_MAX

Words = npt.NDArray[np.uint64]

#: The field of a ``DebugEvent`` that holds a trace.
TRACE: Final = "graph_execution_trace"
_FLOAT64: Final = 2
_TIME_BEGIN: Final = 1
_TIME_END: Final = 9
# The step of our recorder: a tag, and a varint that always has five bytes.
_STEP_TAG: Final = 0x10
_STEP_BEGIN: Final = 10
_STEP_END: Final = 15
#: Limit of templates: a log in which every record is of another op must not fill the memory.
MAX_TEMPLATES: Final = 1 << 16
#: Longer records are parsed. So are records of a length for which this many could not become templates.
_MAX_LENGTH: Final = 4096
_MAX_REFUSALS: Final = 64
_MAX_OFFSETS: Final = 16
#: Maps each byte to the byte with all bits inverted.
_INVERTED: Final = bytes(range(255, -1, -1))
_DIGITS: Final = 128 ** np.arange(_STEP_END - _STEP_BEGIN)


@dataclass(frozen=True)
class Match:
    """Records of one mode that are like templates.

    Attributes:
      rows: Numbers of the records, rising.
      mode: Their tensor debug mode.
      sites: Their sites.
      times: Their times.
      steps: Their steps; 0 where the record has none.
      values: The numbers of their summaries, one row per record.
    """

    rows: Integers
    mode: TensorDebugMode
    sites: npt.NDArray[np.int32]
    times: npt.NDArray[np.float64]
    steps: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Template:
    """The offset of the numbers in a record, its mode, whether it has a step, and its site."""

    begin: int
    mode: TensorDebugMode
    has_step: bool
    site: int

    @property
    def end(self) -> int:
        return self.begin + 8 * len(SUMMARY_COLUMNS.get(self.mode, ()))

    def fits(self, layout: _Layout) -> bool:
        """Whether a record of this template has this layout."""
        return (self.begin, self.mode, self.has_step) == (layout.begin, layout.mode, layout.has_step)


class Templates(ABC):
    """The templates of one host's traces; lives as long as the registry that numbers their sites.

    Args:
      site_of: Returns the number of the site of a trace.
    """

    def __init__(self, site_of: Callable[[Message], int]) -> None:
        self._site_of = site_of
        self._num_templates = 0
        self._refusals: dict[int, int] = {}

    @abstractmethod
    def match(self, frames: RecordFrames) -> tuple[list[Match], Integers]:
        """Find the records that are like templates, and make templates of new records.

        Args:
          frames: Records of the host's ``graph_execution_traces``.

        Returns:
          The matches, and the numbers of the records that have to be parsed.
        """

    def _is_hopeless(self, length: int) -> bool:
        return self._num_templates >= MAX_TEMPLATES or self._refusals.get(length, 0) >= _MAX_REFUSALS

    def _template(self, frames: RecordFrames, row: int) -> _Template | None:
        """Make a template of a record; None when it cannot be a template."""
        length = int(frames.lengths[row])
        if self._is_hopeless(length):
            return None
        position = numbers_of(frames.payload(row))
        if position is None:
            self._refusals[length] = self._refusals.get(length, 0) + 1
            return None
        begin, has_step, record = position
        return _Template(begin, TensorDebugMode(record.tensor_debug_mode), has_step, self._site_of(record))


def make_templates(site_of: Callable[[Message], int]) -> Templates:
    """Make templates that use the compiled library when there is one.

    Args:
      site_of: Returns the number of the site of a trace.
    """
    library = load_library()
    return NumpyTemplates(site_of) if library is None else CompiledTemplates(site_of, library)


class CompiledTemplates(Templates):
    """Templates of the compiled library; see :class:`Templates`.

    Args:
      site_of: Returns the number of the site of a trace.
      library: The compiled library.
    """

    def __init__(self, site_of: Callable[[Message], int], library: ctypes.CDLL) -> None:
        super().__init__(site_of)
        self._library = library
        self._handle = library.tbdbg_templates_new(secrets.randbits(64))
        weakref.finalize(self, library.tbdbg_templates_delete, self._handle)
        # The mode and the site of each template, by its number; -1 is the number of no template.
        self._modes = np.array([-1], np.int32)
        self._sites = np.array([-1], np.int32)
        self._widths: dict[TensorDebugMode, int] = {}

    def match(self, frames: RecordFrames) -> tuple[list[Match], Integers]:
        """See :meth:`Templates.match`."""
        matches, others = self._find(frames)
        if self._learn(frames, others):
            matches, others = self._find(frames)
        return matches, others

    def _find(self, frames: RecordFrames) -> tuple[list[Match], Integers]:
        count = len(frames.starts)
        if not self._widths:
            return [], np.arange(count)
        templates, times = np.empty(count, np.int32), np.empty(count)
        steps = np.empty(count, np.int32)
        numbers = np.empty((max(self._widths.values()), count))
        starts, lengths = np.ascontiguousarray(frames.starts), np.ascontiguousarray(frames.lengths)
        self._library.tbdbg_templates_match(
            *(self._handle, frames.data.ctypes.data, starts.ctypes.data, lengths.ctypes.data, count),
            *(templates.ctypes.data, times.ctypes.data, steps.ctypes.data, numbers.ctypes.data),
        )
        modes, sites = self._modes[templates], self._sites[templates]
        matches = []
        for mode, width in self._widths.items():
            rows = np.flatnonzero(modes == mode)
            # Nearly always all records have one mode; then nothing is copied.
            selected = slice(None) if len(rows) == count else rows
            if len(rows):
                values = numbers[:width, selected].T
                matches.append(Match(rows, mode, sites[selected], times[selected], steps[selected], values))
        return matches, np.flatnonzero(templates < 0)

    def _learn(self, frames: RecordFrames, rows: Integers) -> bool:
        """Make templates of new records; return whether any was made."""
        data = frames.data.ctypes.data
        modes: list[int] = []
        sites: list[int] = []
        spans = zip(rows.tolist(), frames.starts[rows].tolist(), frames.lengths[rows].tolist(), strict=True)
        for row, start, length in spans:
            if not _TIME_END <= length <= _MAX_LENGTH or self._is_hopeless(length):
                continue
            if self._library.tbdbg_templates_find(self._handle, data + start, length) >= 0:
                continue  # like a template that was just made
            template = self._template(frames, row)
            if template is not None:
                record = (data + start, length, template.begin, template.end)
                self._library.tbdbg_templates_add(self._handle, *record)
                modes.append(template.mode)
                sites.append(template.site)
                self._widths[template.mode] = len(SUMMARY_COLUMNS.get(template.mode, ()))
                self._num_templates += 1
        if modes:
            self._modes = np.array([*self._modes[:-1], *modes, -1], np.int32)
            self._sites = np.array([*self._sites[:-1], *sites, -1], np.int32)
        return bool(modes)


@dataclass
class _Layout:
    """Records of one length whose numbers begin at one offset; their other bytes are the templates.

    Attributes:
      length: Bytes of the payload.
      begin: The offset of the numbers of the summary.
      mode: The tensor debug mode.
      has_step: Whether the step of our recorder follows the time.
    """

    length: int
    begin: int
    mode: TensorDebugMode
    has_step: bool
    hashes: Words = field(default_factory=lambda: np.empty(0, np.uint64))
    templates: Words = field(default_factory=lambda: np.empty((0, 0), np.uint64))
    sites: npt.NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))

    def __post_init__(self) -> None:
        kept = np.zeros(_words(self.length) * 8, np.uint8)
        kept[: self.length] = 0xFF
        kept[_TIME_BEGIN:_TIME_END] = 0
        if self.has_step:
            kept[_STEP_BEGIN:_STEP_END] = 0x80  # the bits that say how long the varint is
        kept[self.begin : self.end] = 0
        self._mask = kept.view("<u8")
        self._factors = np.array([secrets.randbits(64) | 1 for _ in self._mask], np.uint64)
        self.templates = np.empty((0, len(self._mask)), np.uint64)

    @property
    def end(self) -> int:
        """The offset of the end of the numbers of the summary."""
        return self.begin + 8 * len(SUMMARY_COLUMNS.get(self.mode, ()))

    def without_numbers(self, words: Words) -> tuple[Words, Words]:
        """Return records with time, step and numbers set to zero, and a hash of each."""
        masked = words & self._mask
        return masked, masked @ self._factors

    def find(self, masked: Words, hashes: Words) -> Integers:
        """Return the number of the template that each record is like; -1 = none."""
        if not len(self.hashes):
            return np.full(len(masked), -1)
        index = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        same = (self.templates[index] == masked).all(axis=1)
        return np.where(same, index, -1)

    def learn(self, masked: Words, hashes: Words, sites: list[int]) -> None:
        """Add templates."""
        merged = np.concatenate([self.hashes, hashes])
        order = np.argsort(merged, kind="stable")
        self.hashes = merged[order]
        self.templates = np.concatenate([self.templates, masked])[order]
        self.sites = np.concatenate([self.sites, np.array(sites, np.int32)])[order]


def _words(length: int) -> int:
    return -(-length // 8)


class _Records(NamedTuple):
    """Records of one length: their numbers, and their bytes as rows of a matrix."""

    rows: Integers
    data: Array

    def take(self, selected: slice | Array) -> _Records:
        return _Records(self.rows[selected], self.data[selected])


class NumpyTemplates(Templates):
    """Templates as matrices, one for each layout; see :class:`Templates`.

    Args:
      site_of: Returns the number of the site of a trace.
    """

    def __init__(self, site_of: Callable[[Message], int]) -> None:
        super().__init__(site_of)
        self._layouts: dict[int, list[_Layout]] = {}

    def match(self, frames: RecordFrames) -> tuple[list[Match], Integers]:
        """See :meth:`Templates.match`."""
        matches: list[Match] = []
        others = [np.empty(0, np.int64)]
        for length, rows in _by_length(frames.lengths):
            matches_of_length, others_of_length = self._match(frames, length, rows)
            matches += matches_of_length
            others.append(others_of_length)
        return matches, np.sort(np.concatenate(others))

    def _match(self, frames: RecordFrames, length: int, rows: Integers) -> tuple[list[Match], Integers]:
        """Return the matches of some records of one length, and the rows of the other ones."""
        size = _words(length) * 8
        if not _TIME_END <= length <= _MAX_LENGTH or size > len(frames.data):
            return [], rows
        windows = np.lib.stride_tricks.sliding_window_view(frames.data, size)
        # A record at the very end has no whole word after it.
        is_inside = frames.starts[rows] < len(windows)
        inside = rows[is_inside]
        matches, others = self._match_layouts(
            frames, length, _Records(inside, windows[frames.starts[inside]])
        )
        return matches, np.concatenate([rows[~is_inside], *others])

    def _match_layouts(
        self, frames: RecordFrames, length: int, records: _Records
    ) -> tuple[list[Match], list[Integers]]:
        layouts = self._layouts.setdefault(length, [])
        matches: list[Match] = []
        others: list[Integers] = []
        tried = 0
        while len(records.rows):
            if tried == len(layouts):
                first = self._layout_of(frames, int(records.rows[0]))
                if first is None:
                    count = len(records.rows) if self._is_hopeless(length) else 1
                    others.append(records.rows[:count])
                    records = records.take(slice(count, None))
                    continue
                layouts.append(first)
            match, records = self._match_layout(frames, layouts[tried], records)
            if match is not None:
                matches.append(match)
            tried += 1
        return matches, others

    def _match_layout(
        self, frames: RecordFrames, layout: _Layout, records: _Records
    ) -> tuple[Match | None, _Records]:
        """Return the records that are like a template of the layout, and the other ones."""
        masked, hashes = layout.without_numbers(records.data.view("<u8"))
        templates = layout.find(masked, hashes)
        if (templates < 0).any() and self._learn(frames, layout, records.rows, masked, hashes, templates < 0):
            templates = layout.find(masked, hashes)
        like = templates >= 0
        if not like.any():
            return None, records
        selected = slice(None) if like.all() else like
        return _matched(layout, records.take(selected), templates[selected]), records.take(~like)

    def _learn(
        self, frames: RecordFrames, layout: _Layout, rows: Integers, masked: Words, hashes: Words, new: Array
    ) -> bool:
        _, firsts = np.unique(hashes[new], return_index=True)
        indices: list[int] = []
        sites: list[int] = []
        for index in np.flatnonzero(new)[np.sort(firsts)].tolist():
            template = self._template(frames, int(rows[index]))
            if template is not None and template.fits(layout):
                indices.append(index)
                sites.append(template.site)
        if indices:
            layout.learn(masked[indices], hashes[indices], sites)
            self._num_templates += len(indices)
        return bool(indices)

    def _layout_of(self, frames: RecordFrames, row: int) -> _Layout | None:
        template = self._template(frames, row)
        if template is None:
            return None
        return _Layout(int(frames.lengths[row]), template.begin, template.mode, template.has_step)


def _by_length(lengths: Integers) -> list[tuple[int, Integers]]:
    order = np.argsort(lengths, kind="stable")
    ordered = lengths[order]
    cuts = np.flatnonzero(np.diff(ordered)) + 1
    return [(int(lengths[rows[0]]), rows) for rows in np.split(order, cuts) if len(rows)]


def _matched(layout: _Layout, records: _Records, templates: Integers) -> Match:
    data = records.data
    times = np.ascontiguousarray(data[:, _TIME_BEGIN:_TIME_END]).view("<f8").reshape(-1)
    steps = _steps(data) if layout.has_step else np.zeros(len(data), np.int32)
    size = (layout.end - layout.begin) // 8
    numbers = np.ascontiguousarray(data[:, layout.begin : layout.end])
    values = numbers.view("<f8") if size else np.empty((len(data), 0), np.float64)
    return Match(records.rows, layout.mode, layout.sites[templates], times, steps, values)


def _steps(data: Array) -> npt.NDArray[np.int32]:
    digits = (data[:, _STEP_BEGIN:_STEP_END] & 0x7F).astype(np.int64)
    steps: npt.NDArray[np.int32] = (digits @ _DIGITS).clip(0, INT32_MAX).astype(np.int32)
    return steps


def _has_step(payload: bytes) -> bool:
    varint = payload[_STEP_BEGIN:_STEP_END]
    return (
        len(varint) == _STEP_END - _STEP_BEGIN
        and payload[_TIME_END] == _STEP_TAG
        and all(byte >= 0x80 for byte in varint[:-1])
        and varint[-1] < 0x80
    )


def numbers_of(payload: bytes) -> tuple[int, bool, Message] | None:
    """Find the numbers of a trace's summary in its bytes.

    Args:
      payload: A serialised ``DebugEvent``.

    Returns:
      The offset of the ``tensor_content``, whether the step of our recorder follows the time, and the trace;
      None when this is not such a record. Other bytes there change only the summary, other bytes at 1 to 8
      only the time, and the lower bits of those at 10 to 14 only the step, if it has one.
    """
    try:
        event = parse_event(payload)
    except FormatError:
        return None
    record = event.graph_execution_trace if event.HasField(TRACE) else None
    content = record.tensor_proto.tensor_content if record is not None else b""
    if record is None or not _is_vector(record, content):
        return None
    has_step = _has_step(payload)
    if event.step and not has_step:
        return None
    begin = payload.find(content, _STEP_END if has_step else _TIME_END)
    for _ in range(_MAX_OFFSETS):
        if begin < 0 or _holds_numbers(payload, event, begin, len(content)):
            break
        begin = payload.find(content, begin + 1)
    else:
        return None
    return (begin, has_step, record) if begin >= 0 else None


def _is_vector(record: Message, content: bytes) -> bool:
    mode = record.tensor_debug_mode
    if mode == TensorDebugMode.NO_TENSOR:
        return not record.HasField("tensor_proto")
    names = SUMMARY_COLUMNS.get(mode)
    return names is not None and record.tensor_proto.dtype == _FLOAT64 and len(content) == 8 * len(names)


def _holds_numbers(payload: bytes, event: Message, begin: int, size: int) -> bool:
    # Other bytes at these offsets must change just these fields. Then they are the values of fields of fixed
    # length, so that no value there can change the meaning of other bytes.
    time = b"\x01\x02\x03\x04\x05\x06\x07\x40"
    changed = bytearray(payload)
    changed[_TIME_BEGIN:_TIME_END] = time
    changed[begin : begin + size] = payload[begin : begin + size].translate(_INVERTED)
    expected = type(event)()
    expected.CopyFrom(event)
    expected.wall_time = float(np.frombuffer(time, "<f8")[0])
    if _has_step(payload):
        changed[_STEP_BEGIN:_STEP_END] = b"\x81\x82\x83\x84\x05"
        expected.step = sum(digit * 128**place for place, digit in enumerate((1, 2, 3, 4, 5)))
    if size:
        expected.graph_execution_trace.tensor_proto.tensor_content = bytes(changed[begin : begin + size])
    try:
        return bool(parse_event(bytes(changed)) == expected)
    except FormatError:
        return False
