"""Decodes traces from their bytes, a whole batch at a time.

Takes framed records of one host's ``graph_execution_traces`` and returns columns. Records that are like an
earlier one are read by :mod:`~tb_debugger_plugin.index.templates`; the others are parsed.

Invariant: :func:`parse_traces`, which parses every record, returns the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.messages import Message
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.index import tensors
from tb_debugger_plugin.index.bounds import parse_bounded
from tb_debugger_plugin.index.frames import RecordFrames
from tb_debugger_plugin.index.registry import Registry
from tb_debugger_plugin.index.templates import TRACE, Match, make_templates

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TraceRows:
    """Traces of one host, in the order of its file.

    Attributes:
      times: ``wall_time``; 0 where it is not finite.
      sites: Numbers of the sites.
      offsets: Where each record begins in the file.
      ends: Where the record after it begins.
      summaries: Columns of summaries, as in :class:`~tb_debugger_plugin.index.tensors.TensorSummaries`.
    """

    times: npt.NDArray[np.float64]
    sites: npt.NDArray[np.int32]
    offsets: Integers
    ends: Integers
    summaries: dict[str, Array]

    def __len__(self) -> int:
        """Return the number of traces."""
        return len(self.times)

    def take(self, rows: Integers | slice) -> TraceRows:
        """Return some of the rows, in the given order."""
        summaries = {name: values[rows] for name, values in self.summaries.items()}
        return TraceRows(self.times[rows], self.sites[rows], self.offsets[rows], self.ends[rows], summaries)


def joined(parts: Sequence[TraceRows]) -> TraceRows:
    """Concatenate rows; at least one part is needed."""
    if len(parts) == 1:
        return parts[0]

    def column(name: str) -> Array:
        return np.concatenate([getattr(part, name) for part in parts])

    names = dict.fromkeys(name for part in parts for name in part.summaries)
    summaries = {name: np.concatenate([_measured(part, name) for part in parts]) for name in names}
    return TraceRows(column("times"), column("sites"), column("offsets"), column("ends"), summaries)


def _measured(rows: TraceRows, name: str) -> Array:
    """Return a column of the summaries; NaN if it is measured of none of the rows."""
    values = rows.summaries.get(name)
    return np.broadcast_to(np.float64(np.nan), len(rows)) if values is None else values


@dataclass(frozen=True)
class Unreadable:
    """A record that could not be parsed: its offset, and the reason."""

    offset: int
    reason: str


def parse_traces(
    frames: RecordFrames, rows: Integers, registry: Registry, host: int
) -> tuple[Integers, TraceRows, list[Unreadable]]:
    """Parse records one by one.

    Args:
      frames: Records.
      rows: Numbers of the records to parse.
      registry: Numbers sites and shapes.
      host: The number of the host.

    Returns:
      The numbers of the records that are traces, the traces, and the records that could not be parsed.
    """
    kept: list[int] = []
    events: list[Message] = []
    unreadable: list[Unreadable] = []
    for row in rows.tolist():
        try:
            event = parse_bounded(frames.payload(row))
        except FormatError as error:
            unreadable.append(Unreadable(int(frames.offsets[row]), str(error)))
            continue
        if event.HasField(TRACE):
            kept.append(row)
            events.append(event)
    traces = np.array(kept, np.int64)
    return traces, _rows_of_events(frames, traces, events, registry, host), unreadable


def _rows_of_events(
    frames: RecordFrames, rows: Integers, events: list[Message], registry: Registry, host: int
) -> TraceRows:
    records = [getattr(event, TRACE) for event in events]
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


def _site(record: Message, registry: Registry, host: int) -> int:
    return registry.site(
        host, record.tfdbg_context_id, record.op_name, record.output_slot, record.device_name
    )


def _finite(times: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    # A time that is not finite is damage; it can be neither sorted nor sent as JSON.
    return np.where(np.isfinite(times), times, 0.0)


class TraceDecoder:
    """Decodes one host's traces; lives as long as the registry that numbers their sites.

    Args:
      registry: Numbers sites and shapes.
      host: The number of the host.
    """

    def __init__(self, registry: Registry, host: int) -> None:
        self._registry = registry
        self._host = host
        self._templates = make_templates(lambda record: _site(record, registry, host))

    def decode(self, frames: RecordFrames) -> tuple[TraceRows, list[Unreadable]]:
        """Decode records.

        Args:
          frames: Records of the host's ``graph_execution_traces``.

        Returns:
          The traces among them, in order, and the records that could not be parsed.
        """
        matches, rest = self._templates.match(frames)
        rows, parsed, unreadable = parse_traces(frames, rest, self._registry, self._host)
        if not matches:
            return parsed, unreadable
        fast = self._rows_of_matches(frames, matches)
        if not len(rows):
            return fast, unreadable
        order = np.argsort(np.concatenate([fast.offsets, parsed.offsets]), kind="stable")
        return joined([fast, parsed]).take(order), unreadable

    def _rows_of_matches(self, frames: RecordFrames, matches: list[Match]) -> TraceRows:
        targets, order = _targets(matches, len(frames.starts))
        count = sum(len(match.rows) for match in matches)
        times, sites = np.empty(count, np.float64), np.empty(count, np.int32)
        vectors: dict[TensorDebugMode, list[tuple[tensors.Rows, npt.NDArray[np.float64]]]] = {}
        for match, target in zip(matches, targets, strict=True):
            times[target], sites[target] = match.times, match.sites
            vectors.setdefault(match.mode, []).append((target, match.values))
        summaries = tensors.summarize_vectors(count, vectors, self._registry.shape)
        return TraceRows(_finite(times), sites, frames.offsets[order], frames.ends[order], summaries.columns)


def _targets(matches: list[Match], count: int) -> tuple[Sequence[Integers | slice], Integers | slice]:
    """Return the positions of each match's rows among the rows of all matches, and all rows in order."""
    if len(matches) == 1:
        rows = matches[0].rows
        return [slice(None)], slice(None) if len(rows) == count else rows
    order = np.sort(np.concatenate([match.rows for match in matches]))
    position = np.empty(count, np.int64)
    position[order] = np.arange(len(order))
    return [position[match.rows] for match in matches], order
