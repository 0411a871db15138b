"""Traces out of their bytes, a whole batch at a time.

In come framed records of one host's ``graph_execution_traces``, out come columns. Almost all records of an op
are equal but for the time and the numbers of the summary, so each op's first record is parsed, and the others
are compared with it, byte by byte, all of them at once. A record that is like none before is parsed too.

Rule: :func:`parse_traces`, which parses every record, gives the same rows.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.messages import parse_event
from tb_debugger_plugin.events.modes import SUMMARY_COLUMNS, TensorDebugMode
from tb_debugger_plugin.index import tensors
from tb_debugger_plugin.index.bounds import parse_bounded
from tb_debugger_plugin.index.columns import Array
from tb_debugger_plugin.index.frames import Frames
from tb_debugger_plugin.index.registry import Registry

Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

_KIND: Final = "graph_execution_trace"
_FLOAT64: Final = 2
_TIME_BEGIN: Final = 1
_TIME_END: Final = 9
#: A log in which every record is another op's must not fill the memory.
MAX_TEMPLATES: Final = 1 << 16
#: Longer records are parsed; so are those of a length of which that many could be no template.
_MAX_LENGTH: Final = 4096
_MAX_REFUSALS: Final = 64
_MAX_PLACES: Final = 16


@dataclass(frozen=True)
class TraceRows:
    """Traces of one host, in the order of its file.

    Attributes:
      times: ``wall_time``; 0 where it is not finite.
      sites: Numbers of the sites.
      offsets: Where each record begins in the file.
      ends: Where the next one begins.
      summaries: What was measured, as in :class:`~tb_debugger_plugin.index.tensors.Summaries`.
    """

    times: npt.NDArray[np.float64]
    sites: npt.NDArray[np.int32]
    offsets: Integers
    ends: Integers
    summaries: dict[str, Array]

    def __len__(self) -> int:
        """How many there are."""
        return len(self.times)

    def take(self, rows: Integers | slice) -> TraceRows:
        """Only some of the rows, in the order given."""
        summaries = {name: values[rows] for name, values in self.summaries.items()}
        return TraceRows(self.times[rows], self.sites[rows], self.offsets[rows], self.ends[rows], summaries)


def joined(parts: Sequence[TraceRows]) -> TraceRows:
    """Rows behind each other; at least one part is needed."""
    if len(parts) == 1:
        return parts[0]

    def column(name: str) -> Array:
        return np.concatenate([getattr(part, name) for part in parts])

    names = parts[0].summaries
    summaries = {name: np.concatenate([part.summaries[name] for part in parts]) for name in names}
    return TraceRows(column("times"), column("sites"), column("offsets"), column("ends"), summaries)


@dataclass(frozen=True)
class Unreadable:
    """A record that could not be parsed: its offset, and why."""

    offset: int
    reason: str


def parse_traces(
    frames: Frames, rows: Integers, registry: Registry, host: int
) -> tuple[Integers, TraceRows, list[Unreadable]]:
    """Parse records one by one.

    Args:
      frames: Records.
      rows: Which of them.
      registry: Numbers sites and shapes.
      host: Number of the host.

    Returns:
      Which of the records are traces, these, and what could not be parsed.
    """
    kept: list[int] = []
    events: list[Any] = []
    unreadable: list[Unreadable] = []
    for row in rows.tolist():
        try:
            event = parse_bounded(frames.payload(row))
        except FormatError as error:
            unreadable.append(Unreadable(int(frames.offsets[row]), str(error)))
            continue
        if event.HasField(_KIND):
            kept.append(row)
            events.append(event)
    found = np.array(kept, np.int64)
    return found, _rows_of_events(frames, found, events, registry, host), unreadable


def _rows_of_events(
    frames: Frames, rows: Integers, events: list[Any], registry: Registry, host: int
) -> TraceRows:
    records = [getattr(event, _KIND) for event in events]
    summaries = tensors.summarize(
        [record.tensor_debug_mode for record in records],
        [record.tensor_proto for record in records],
        registry.shape,
    )
    return TraceRows(
        _finite(np.array([event.wall_time for event in events], np.float64)),
        np.array([_site(record, registry, host) for record in records], np.int32),
        frames.offsets[rows],
        frames.ends[rows],
        dict(summaries.columns),
    )


def _site(record: Any, registry: Registry, host: int) -> int:
    return registry.site(
        host, record.tfdbg_context_id, record.op_name, record.output_slot, record.device_name
    )


def _finite(times: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    # A time that is not finite is damage; nobody could sort it or send it as JSON.
    return np.where(np.isfinite(times), times, 0.0)


@dataclass
class _Layout:
    """Records of one length whose numbers stand at one place; the templates are their other bytes.

    Attributes:
      length: Of the payload.
      begin: Where the numbers of the summary begin.
      mode: Tensor debug mode.
    """

    length: int
    begin: int
    mode: TensorDebugMode
    hashes: Words = field(default_factory=lambda: np.empty(0, np.uint64))
    templates: Words = field(default_factory=lambda: np.empty((0, 0), np.uint64))
    sites: npt.NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))

    def __post_init__(self) -> None:
        kept = np.zeros(_words(self.length) * 8, np.uint8)
        kept[: self.length] = 0xFF
        kept[_TIME_BEGIN:_TIME_END] = 0
        kept[self.begin : self.end] = 0
        self._mask = kept.view("<u8")
        self._factors = np.array([secrets.randbits(64) | 1 for _ in self._mask], np.uint64)
        self.templates = np.empty((0, len(self._mask)), np.uint64)

    @property
    def end(self) -> int:
        """Where the numbers of the summary end."""
        return self.begin + 8 * len(SUMMARY_COLUMNS.get(self.mode, ()))

    def without_numbers(self, words: Words) -> tuple[Words, Words]:
        """What is left of some records without time and numbers, and a hash of each."""
        left = words & self._mask
        return left, left @ self._factors

    def find(self, left: Words, hashes: Words) -> Integers:
        """Which template each record is like; -1 = none of them."""
        if not len(self.hashes):
            return np.full(len(left), -1)
        place = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        same = (self.templates[place] == left).all(axis=1)
        return np.where(same, place, -1)

    def learn(self, left: Words, hashes: Words, sites: list[int]) -> None:
        """Add templates."""
        merged = np.concatenate([self.hashes, hashes])
        order = np.argsort(merged, kind="stable")
        self.hashes = merged[order]
        self.templates = np.concatenate([self.templates, left])[order]
        self.sites = np.concatenate([self.sites, np.array(sites, np.int32)])[order]


def _words(length: int) -> int:
    return -(-length // 8)


@dataclass(frozen=True)
class _Match:
    """Records of one layout: which ones, where they were computed, when, and their numbers."""

    rows: Integers
    mode: TensorDebugMode
    sites: npt.NDArray[np.int32]
    times: npt.NDArray[np.float64]
    values: npt.NDArray[np.float64]


class TraceDecoder:
    """Decodes one host's traces; lives as long as the registry that numbers their sites.

    Args:
      registry: Numbers sites and shapes.
      host: Number of the host.
    """

    def __init__(self, registry: Registry, host: int) -> None:
        self._registry = registry
        self._host = host
        self._layouts: dict[int, list[_Layout]] = {}
        self._num_templates = 0
        self._refusals: dict[int, int] = {}

    def decode(self, frames: Frames) -> tuple[TraceRows, list[Unreadable]]:
        """Decode records.

        Args:
          frames: Of the host's ``graph_execution_traces``.

        Returns:
          The traces among them, in order, and what could not be parsed.
        """
        matches: list[_Match] = []
        others: list[Integers] = []
        for length, rows in _by_length(frames.lengths):
            others.append(self._match(frames, length, rows, matches))
        rest = np.sort(np.concatenate(others)) if others else np.empty(0, np.int64)
        found, parsed, unreadable = parse_traces(frames, rest, self._registry, self._host)
        if not matches:
            return parsed, unreadable
        fast = self._rows_of_matches(frames, matches)
        if not len(found):
            return fast, unreadable
        order = np.argsort(np.concatenate([fast.offsets, parsed.offsets]), kind="stable")
        return joined([fast, parsed]).take(order), unreadable

    def _match(self, frames: Frames, length: int, rows: Integers, matches: list[_Match]) -> Integers:
        """Append what is like a template to ``matches``; returns the other rows."""
        if not _TIME_END <= length <= _MAX_LENGTH:
            return rows
        size = _words(length) * 8
        if size > len(frames.data):
            return rows
        windows = np.lib.stride_tricks.sliding_window_view(frames.data, size)
        # A record at the very end has no whole word behind it.
        inside = frames.starts[rows] < len(windows)
        unlike = [rows[~inside]]
        rows = rows[inside]
        records = windows[frames.starts[rows]]
        layouts = self._layouts.setdefault(length, [])
        tried = 0
        while len(rows):
            if tried == len(layouts):
                first = self._layout_of(frames, int(rows[0]))
                if first is None:
                    count = len(rows) if self._is_hopeless(length) else 1
                    unlike.append(rows[:count])
                    rows, records = rows[count:], records[count:]
                    continue
                layouts.append(first)
            rows, records = self._match_layout(frames, layouts[tried], rows, records, matches)
            tried += 1
        return np.concatenate(unlike)

    def _match_layout(
        self, frames: Frames, layout: _Layout, rows: Integers, records: Array, matches: list[_Match]
    ) -> tuple[Integers, Array]:
        left, hashes = layout.without_numbers(records.view("<u8"))
        found = layout.find(left, hashes)
        if (found < 0).any() and self._learn(frames, layout, rows, left, hashes, found < 0):
            found = layout.find(left, hashes)
        like = found >= 0
        if not like.any():
            return rows, records
        chosen = slice(None) if like.all() else like
        matches.append(_matched(layout, rows[chosen], records[chosen], found[chosen]))
        return rows[~like], records[~like]

    def _learn(
        self, frames: Frames, layout: _Layout, rows: Integers, left: Words, hashes: Words, new: Array
    ) -> bool:
        _, firsts = np.unique(hashes[new], return_index=True)
        places: list[int] = []
        sites: list[int] = []
        for place in np.flatnonzero(new)[np.sort(firsts)].tolist():
            template = self._template(frames, int(rows[place]))
            if template is not None and template[:2] == (layout.begin, layout.mode):
                places.append(place)
                sites.append(template[2])
        if places:
            layout.learn(left[places], hashes[places], sites)
            self._num_templates += len(places)
        return bool(places)

    def _is_hopeless(self, length: int) -> bool:
        return self._num_templates >= MAX_TEMPLATES or self._refusals.get(length, 0) >= _MAX_REFUSALS

    def _layout_of(self, frames: Frames, row: int) -> _Layout | None:
        template = self._template(frames, row)
        return template and _Layout(int(frames.lengths[row]), template[0], template[1])

    def _template(self, frames: Frames, row: int) -> tuple[int, TensorDebugMode, int] | None:
        """Where the numbers of a record begin, its mode and its site; None when it can be no template."""
        length = int(frames.lengths[row])
        if self._is_hopeless(length):
            return None
        payload = frames.payload(row)
        found = numbers_of(payload)
        if found is None:
            self._refusals[length] = self._refusals.get(length, 0) + 1
            return None
        record = getattr(parse_event(payload), _KIND)
        return found, TensorDebugMode(record.tensor_debug_mode), _site(record, self._registry, self._host)

    def _rows_of_matches(self, frames: Frames, matches: list[_Match]) -> TraceRows:
        rows = np.concatenate([match.rows for match in matches])
        place = np.empty(len(frames.starts), np.int64)
        order = np.sort(rows)
        place[order] = np.arange(len(order))
        times = np.empty(len(rows), np.float64)
        sites = np.empty(len(rows), np.int32)
        vectors: dict[TensorDebugMode, list[tuple[Integers, npt.NDArray[np.float64]]]] = {}
        for match in matches:
            where = place[match.rows]
            times[where], sites[where] = match.times, match.sites
            vectors.setdefault(match.mode, []).append((where, match.values))
        summaries = tensors.summarize_vectors(len(rows), vectors, self._registry.shape)
        return TraceRows(_finite(times), sites, frames.offsets[order], frames.ends[order], summaries.columns)


def _by_length(lengths: Integers) -> list[tuple[int, Integers]]:
    order = np.argsort(lengths, kind="stable")
    ordered = lengths[order]
    cuts = np.flatnonzero(np.diff(ordered)) + 1
    return [(int(lengths[rows[0]]), rows) for rows in np.split(order, cuts) if len(rows)]


def _matched(layout: _Layout, rows: Integers, records: Array, found: Integers) -> _Match:
    times = np.ascontiguousarray(records[:, _TIME_BEGIN:_TIME_END]).view("<f8").reshape(-1)
    size = (layout.end - layout.begin) // 8
    numbers = np.ascontiguousarray(records[:, layout.begin : layout.end])
    values = numbers.view("<f8") if size else np.empty((len(rows), 0), np.float64)
    return _Match(rows, layout.mode, layout.sites[found], times, values)


def numbers_of(payload: bytes) -> int | None:
    """Where the numbers of a trace's summary stand in its bytes.

    Args:
      payload: A serialised ``DebugEvent``.

    Returns:
      Where the ``tensor_content`` begins, of a trace whose bytes mean the same but for time and summary
      whatever stands there and at bytes 1 to 8; None when this is not such a record.
    """
    try:
        event = parse_event(payload)
    except FormatError:
        return None
    record = event.graph_execution_trace if event.HasField(_KIND) else None
    content = record.tensor_proto.tensor_content if record is not None else b""
    if record is None or not _is_vector(record, content):
        return None
    begin = payload.find(content, _TIME_END)
    for _ in range(_MAX_PLACES):
        if begin < 0 or _is_place_of_numbers(payload, event, begin, len(content)):
            break
        begin = payload.find(content, begin + 1)
    else:
        return None
    return begin if begin >= 0 else None


def _is_vector(record: Any, content: bytes) -> bool:
    mode = record.tensor_debug_mode
    if mode == TensorDebugMode.NO_TENSOR:
        return not record.HasField("tensor_proto")
    names = SUMMARY_COLUMNS.get(mode)
    return names is not None and record.tensor_proto.dtype == _FLOAT64 and len(content) == 8 * len(names)


def _is_place_of_numbers(payload: bytes, event: Any, begin: int, size: int) -> bool:
    # Other bytes at the two places must change just the two fields. The places then are the values of
    # fields of fixed length, so that nothing that stands there can change the meaning of other bytes.
    time = b"\x01\x02\x03\x04\x05\x06\x07\x40"
    changed = bytearray(payload)
    changed[_TIME_BEGIN:_TIME_END] = time
    changed[begin : begin + size] = bytes(byte ^ 0xFF for byte in payload[begin : begin + size])
    expected = type(event)()
    expected.CopyFrom(event)
    expected.wall_time = float(np.frombuffer(time, "<f8")[0])
    if size:
        expected.graph_execution_trace.tensor_proto.tensor_content = bytes(changed[begin : begin + size])
    try:
        return bool(parse_event(bytes(changed)) == expected)
    except FormatError:
        return False
