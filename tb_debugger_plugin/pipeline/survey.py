"""Surveys a long file: where its records are, when they happened, and what they name.

Divides a file of one host into chunks. Returns, for each chunk, what the layout needs before it can give
numbers and positions: :class:`Facts`, which are short, and :class:`RowSpans`, with a row for each record.

Invariant: the code that reads files for the local index also reads chunks, so the rows and the notices are
the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.events import tail
from tb_debugger_plugin.events.fileset import GRAPH_EXECUTION_TRACES, METADATA, FileSet
from tb_debugger_plugin.index.hosts import DECODERS, decode_ring
from tb_debugger_plugin.index.records import Decoder
from tb_debugger_plugin.index.registry import Registry, Stack
from tb_debugger_plugin.index.source import (
    NO_RING_BYTES,
    Batch,
    FileState,
    Notice,
    SetFile,
    read_rows,
    ring_bytes,
)
from tb_debugger_plugin.index.tensors import BAD

#: Long, because the ops of a program are learned anew for each chunk: shorter ones cost twice as much a row.
CHUNK_BYTES: Final = 256 << 20
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


@dataclass(frozen=True)
class Walked:
    """A stretch of a file whose bounds are known.

    Attributes:
      chunks: The chunk; at the end of the file also its ring, if it has one.
      state: State of the file after the chunk.
      more: Whether the file has more.
    """

    chunks: tuple[Chunk, ...]
    state: FileState
    more: bool


def walk(files: FileSet, host: int, suffix: str, number: int, state: FileState, chunk_bytes: int) -> Walked:
    """Find the next chunk of a file by reading it: only the records before a boundary show where it is.

    Args:
      files: The host's file set.
      host: Number of the host.
      suffix: Suffix of the file.
      number: Number of the chunk, from 0.
      state: State of the file before the chunk.
      chunk_bytes: Approximate number of bytes of the chunk.

    Raises:
      OSError: The files of the host cannot be seen here.
    """
    if not number:
        # A file that is missing is an empty one, but every host has its metadata.
        files.path(METADATA).stat()
    file = SetFile(files, suffix)
    # The records are let go as they are read: to keep them until the end takes four times as long.
    batch = file.read(state, chunk_bytes, lambda batch, frames: None)
    chunks = [Chunk(files, host, suffix, number, state, chunk_bytes)]
    if not batch.more:
        tail_file = file.read_tail()
        if tail_file is not None and tail_file.mode is tail.TailMode.RING:
            chunks.append(Chunk(files, host, suffix, number + 1, batch.state, 0, is_ring=True))
    return Walked(tuple(chunks), batch.state, batch.more)


def decoder_of(chunk: Chunk, registry: Registry) -> Decoder:
    """Make a decoder for the records of a chunk's file; the registry receives what they name."""
    return DECODERS[chunk.suffix](registry, chunk.host)


def read_chunk(chunk: Chunk, decoder: Decoder) -> Batch:
    """Read the rows of a chunk.

    Args:
      chunk: The chunk.
      decoder: A decoder of its records. It learns from the first record of each op, which takes as long as
        to decode a hundred: chunks of a file share one where they can.

    Returns:
      The batch; the rows of a ring have the values of column ``position`` in place of offsets.
    """
    file = SetFile(chunk.files, chunk.suffix)
    if not chunk.is_ring:
        return read_rows(file, decoder, Batch(state=chunk.state), chunk.limit)
    ring = file.read_tail()
    of_ring = NO_RING_BYTES if ring is None else ring_bytes(ring, chunk.state.resume)
    return Batch(state=chunk.state, rows=decode_ring(decoder, of_ring))


def survey(chunk: Chunk) -> tuple[Facts, RowSpans]:
    """Read a chunk and return its facts and the positions of its rows."""
    registry = Registry()
    batch = read_chunk(chunk, decoder_of(chunk, registry))
    times, spans = batch.times(), _spans(chunk, batch)
    rising = np.maximum.accumulate(times) if len(times) else times
    samples = [(float(rising[row]), int(spans.begins[row])) for row in range(0, len(rising), _ROWS_A_SAMPLE)]
    facts = Facts(
        chunk,
        len(times),
        int(spans.is_bad.sum()),
        float(rising[-1]) if len(rising) else -np.inf,
        samples,
        _names(registry),
        batch.state,
        batch.notices,
        _dropped(chunk),
    )
    return facts, spans


def _spans(chunk: Chunk, batch: Batch) -> RowSpans:
    if batch.rows is None:
        none = np.empty(0, np.int64)
        return RowSpans(chunk, np.empty(0), none, none, np.empty(0, bool))
    rows = batch.rows
    nowhere = np.full(len(rows), -1)
    begins, ends = (nowhere, nowhere) if chunk.is_ring else (rows.offsets, rows.ends)
    # Only graph executions have a table of bad ones.
    is_bad = (rows.columns["health"] == BAD) & (chunk.suffix == GRAPH_EXECUTION_TRACES)
    return RowSpans(chunk, rows.times, begins, ends, is_bad)


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
