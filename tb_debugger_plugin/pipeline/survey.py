"""Surveys a long file: where its records are, when they happened, and what they name.

Divides a file of one host into chunks. Returns, for each chunk, what the layout needs before it can give
numbers and positions: :class:`Facts`, which are short, and :class:`RowSpans`, with a row for each record.

Invariant: the code that reads files for the local index also reads chunks, so the rows and the notices are
the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.events import tail
from tb_debugger_plugin.events.fileset import GRAPH_EXECUTION_TRACES, FileSet
from tb_debugger_plugin.index.decode import Row, execution_columns
from tb_debugger_plugin.index.registry import Registry, Stack
from tb_debugger_plugin.index.source import (
    NO_RING_BYTES,
    Batch,
    FileState,
    Notice,
    SetFile,
    read_traces,
    ring_bytes,
    ring_events,
    ring_frames,
)
from tb_debugger_plugin.index.tensors import BAD
from tb_debugger_plugin.index.traces import TraceDecoder, TraceRows, joined

CHUNK_BYTES: Final = 64 << 20
#: The facts hold the position of one row out of this many.
_ROWS_A_SAMPLE: Final = 4096


@dataclass(frozen=True)
class Chunk:
    """A range of bytes of a file that one worker reads.

    Attributes:
      files: The host's file set.
      host: Number of the host.
      suffix: Suffix of the file.
      number: Number of the chunk, from 0.
      state: State of the file in which reading begins.
      limit: Approximate number of bytes.
      is_ring: Whether the chunk is the ring of a circular buffer, without the records that the file holds.
    """

    files: FileSet
    host: int
    suffix: str
    number: int
    state: FileState
    limit: int
    is_ring: bool = False


@dataclass(frozen=True)
class SurveyRows:
    """The records of a chunk that become rows of a list, in the order of the file.

    Attributes:
      batch: State of the file at the end of reading, and the notices.
      times: Time of each row.
      begins: Position at which each record begins.
      ends: Position at which the next record begins.
      traces: The rows of ``graph_execution_traces``.
      executions: The rows of ``execution``.
    """

    batch: Batch
    times: npt.NDArray[np.float64]
    begins: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    traces: TraceRows | None = None
    executions: list[Row] = field(default_factory=list)


@dataclass(frozen=True)
class SurveyNames:
    """The keys of the registry that some records name, in the order of the records."""

    graphs: list[tuple[int, str]]
    sites: list[tuple[int, str, str, int, str]]
    op_types: list[str]
    shapes: list[tuple[str, int]]
    stacks: list[Stack]


@dataclass(frozen=True)
class Facts:
    """The facts about a chunk that the layout needs.

    Attributes:
      chunk: The chunk.
      num_rows: Number of rows.
      num_bad: Number of bad rows.
      latest: The latest time in the chunk; minus infinity when it has no rows.
      samples: Time and position of some records, at regular distances; the time never falls.
      names: The keys of the registry that its records name.
      state: State of the file after the chunk.
      notices: Notices about records that had to be left out.
      dropped: Number of records that the ring has overwritten.
    """

    chunk: Chunk
    num_rows: int
    num_bad: int
    latest: float
    samples: list[tuple[float, int]]
    names: SurveyNames
    state: FileState
    notices: list[Notice]
    dropped: int = 0


@dataclass(frozen=True)
class RowSpans:
    """Position and time of each row of a chunk, as arrays of equal length."""

    chunk: Chunk
    times: npt.NDArray[np.float64]
    begins: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    is_bad: npt.NDArray[np.bool_]


def chunks_of(files: FileSet, host: int, suffix: str, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
    """Divide a file into chunks, by reading it: only the records before a boundary show where it is."""
    file, state, number = SetFile(files, suffix), FileState(), 0
    more = True
    while more:
        batch = file.read(state, chunk_bytes)
        yield Chunk(files, host, suffix, number, state, chunk_bytes)
        state, more, number = batch.state, batch.more, number + 1
    tail_file = file.read_tail()
    if tail_file is not None and tail_file.mode is tail.TailMode.RING:
        yield Chunk(files, host, suffix, number, state, 0, is_ring=True)


def read_rows(chunk: Chunk, registry: Registry) -> SurveyRows:
    """Read the rows of a chunk.

    Args:
      chunk: The chunk.
      registry: Receives what traces name; what executions name is registered when they become columns.
    """
    file = SetFile(chunk.files, chunk.suffix)
    if chunk.is_ring:
        return _ring_rows(chunk, file, registry)
    if chunk.suffix == GRAPH_EXECUTION_TRACES:
        batch = read_traces(file, TraceDecoder(registry, chunk.host), chunk.state, chunk.limit)
        return _trace_rows(batch, batch.traces)
    batch = file.read(chunk.state, chunk.limit)
    rows = [row for row, event in enumerate(batch.events) if event.HasField("execution")]
    begins, ends = np.array(batch.offsets, np.int64), np.array(batch.ends, np.int64)
    executions = [Row(chunk.host, batch.events[row], batch.offsets[row]) for row in rows]
    return _execution_rows(batch, executions, begins[rows], ends[rows])


def _trace_rows(batch: Batch, rows: TraceRows | None) -> SurveyRows:
    if rows is None:
        empty = np.empty(0, np.int64)
        return SurveyRows(batch, np.empty(0), empty, empty)
    return SurveyRows(batch, rows.times, rows.offsets, rows.ends, traces=rows)


def _execution_rows(batch: Batch, rows: list[Row], begins: Any = None, ends: Any = None) -> SurveyRows:
    times = np.array([row.event.wall_time for row in rows])
    return SurveyRows(batch, times, begins, ends, executions=rows)


def _ring_rows(chunk: Chunk, file: SetFile, registry: Registry) -> SurveyRows:
    tail_file = file.read_tail()
    ring = NO_RING_BYTES if tail_file is None else ring_bytes(tail_file, chunk.state.resume)
    batch = Batch(state=chunk.state)
    if chunk.suffix == GRAPH_EXECUTION_TRACES:
        decoder = TraceDecoder(registry, chunk.host)
        parts = [decoder.decode(frames)[0] for frames in ring_frames(ring)]
        rows = joined(parts) if parts else None
        found = _trace_rows(batch, rows and replace(rows, offsets=ring.position(rows.offsets)))
    else:
        events = [(position, event) for position, event in ring_events(ring) if event.HasField("execution")]
        executions = [Row(chunk.host, event, position) for position, event in events]
        found = _execution_rows(batch, executions, None, None)
    nowhere = np.full(len(found.times), -1)
    return replace(found, begins=nowhere, ends=nowhere)


def survey(chunk: Chunk) -> tuple[Facts, RowSpans]:
    """Read a chunk and return its facts and the positions of its rows."""
    registry = Registry()
    rows = read_rows(chunk, registry)
    if rows.traces is not None:
        is_bad = rows.traces.summaries["health"] == BAD
    else:
        is_bad = np.zeros(len(rows.times), bool)
        if rows.executions:
            execution_columns(rows.executions, registry, 0)
    rising = np.maximum.accumulate(rows.times) if len(rows.times) else rows.times
    samples = [(float(rising[row]), int(rows.begins[row])) for row in range(0, len(rising), _ROWS_A_SAMPLE)]
    facts = Facts(
        chunk,
        len(rows.times),
        int(is_bad.sum()),
        float(rising[-1]) if len(rising) else -np.inf,
        samples,
        _names(registry),
        rows.batch.state,
        rows.batch.notices,
        _dropped(chunk),
    )
    return facts, RowSpans(chunk, rows.times, rows.begins, rows.ends, is_bad)


def _dropped(chunk: Chunk) -> int:
    ring = SetFile(chunk.files, chunk.suffix).read_tail() if chunk.is_ring else None
    return ring.dropped if ring is not None else 0


def _names(registry: Registry) -> SurveyNames:
    graphs, ops = registry.graphs.rows, registry.ops.rows
    return SurveyNames(
        [(graph.host, graph.graph_id) for graph in graphs],
        [
            (site.host, graphs[site.graph].graph_id, ops[site.op].name, site.slot, site.device or "")
            for site in registry.sites.rows
        ],
        [op_type.name for op_type in registry.op_types.rows],
        [(shape.text, shape.rank) for shape in registry.shapes.rows],
        list(registry.stacks.rows),
    )
