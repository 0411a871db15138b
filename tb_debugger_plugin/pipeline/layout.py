"""Numbers everything that records name, and cuts each long list into parts, before workers write rows.

Takes the facts of all chunks. Returns the registry of the run, the latest time before each chunk, and the
bounds of the parts. One worker makes all of this: its size depends on the program, not on the length of the
run.

Invariants: rows are in the order of their keys (latest time of the host, host, position in the file), which
is the order of :mod:`tb_debugger_plugin.index.merge`. A part holds the rows between two keys. The rows of the
rings of circular buffers come last and are a part of their own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES, SUFFIXES, TAILED, FileSet
from tb_debugger_plugin.events.tail import TailMode
from tb_debugger_plugin.index.describe import Describer, new_hosts
from tb_debugger_plugin.index.merge import never_falling
from tb_debugger_plugin.index.registry import Registry
from tb_debugger_plugin.index.runs import FoundRun
from tb_debugger_plugin.index.source import FileState, Notice, SetFile, ring_bytes, ring_events
from tb_debugger_plugin.pipeline.survey import Chunk, Facts, RowSpans, SurveyNames

#: Approximate number of rows of a part, which one worker holds in memory.
ROWS_A_PART: Final = 1_000_000
_READ_BYTES: Final = 64 << 20

#: Latest time of the host, host, position of the record in the file.
Key = tuple[float, int, int]
ChunkId = tuple[str, int, int, bool]
PartId = tuple[str, int]


@dataclass(frozen=True)
class Layout:
    """The numbers and bounds that every worker needs.

    Attributes:
      registry: The numbers of everything that any record names.
      latest: The latest time of the host before each chunk.
      bounds: By list, the keys at which all parts but the first begin.
    """

    registry: Registry
    latest: dict[ChunkId, float]
    bounds: dict[str, list[Key]]


@dataclass(frozen=True)
class Described:
    """The contents of the short files, and the states of all files.

    Attributes:
      describer: Holds the rows of the short tables, and one host for each file set.
      states: State of each file at its end, by host and suffix.
      dropped: Number of records that the ring of a file has overwritten, by host and suffix.
      notices: Notices about records that had to be left out.
    """

    describer: Describer
    states: dict[tuple[int, str], FileState]
    dropped: dict[tuple[int, str], int]
    notices: list[Notice]


def chunk_id(chunk: Chunk) -> ChunkId:
    """Return the key of a chunk; keys sort the chunks of a host in the order of the file, its ring last."""
    return chunk.suffix, chunk.host, chunk.number, chunk.is_ring


def lay_out(
    run: FoundRun, facts: Sequence[Facts], rows_a_part: int = ROWS_A_PART
) -> tuple[Layout, Described]:
    """Combine the facts of all chunks.

    Args:
      run: The run.
      facts: Facts of all chunks of its long files.
      rows_a_part: Approximate number of rows of a part.
    """
    # The order of the local index: the traces of one host after the other, then the executions.
    order = {GRAPH_EXECUTION_TRACES: 0, EXECUTION: 1}
    ordered = sorted(facts, key=lambda fact: (order[fact.chunk.suffix], chunk_id(fact.chunk)))
    described = _describe(run)
    for fact in ordered:
        _register(described.describer.registry, fact.names)
        key = fact.chunk.host, fact.chunk.suffix
        described.notices.extend(fact.notices)
        if fact.chunk.is_ring:
            described.dropped[key] = fact.dropped
        else:
            described.states[key] = fact.state
    latest = _latest(ordered)
    bounds = {suffix: _bounds(ordered, suffix, latest, rows_a_part) for suffix in TAILED}
    return Layout(described.describer.registry, latest, bounds), described


def _describe(run: FoundRun) -> Described:
    described = Described(Describer(Registry(), new_hosts(run.file_sets)), {}, {}, [])
    for host, files in enumerate(run.file_sets):
        for suffix in SUFFIXES:
            if suffix not in TAILED:
                _read_short(described, host, files, suffix)
    return described


def _read_short(described: Described, host: int, files: FileSet, suffix: str) -> None:
    file, state, more = SetFile(files, suffix), FileState(), True
    while more:
        batch = file.read(state, _READ_BYTES)
        state, more = batch.state, batch.more
        described.notices.extend(batch.notices)
        for event in batch.events:
            described.describer.add(host, event)
    described.states[host, suffix] = state
    ring = file.read_tail()
    if ring is not None and ring.mode is TailMode.RING:
        described.dropped[host, suffix] = ring.dropped
        events = ring_events(ring_bytes(ring, state.resume))
        described.describer.add_ring(host, events)


def _register(registry: Registry, names: SurveyNames) -> None:
    for graph in names.graphs:
        registry.graph(*graph)
    for site in names.sites:
        registry.site(*site)
    for op_type in names.op_types:
        registry.op_type(op_type)
    for shape in names.shapes:
        registry.shape(*shape)
    for stack in names.stacks:
        registry.stacks.number(stack, stack)


def _latest(ordered: Iterable[Facts]) -> dict[ChunkId, float]:
    """Return the latest time of the host before each chunk."""
    until: dict[tuple[str, int], float] = {}
    latest: dict[ChunkId, float] = {}
    for fact in ordered:
        host = fact.chunk.suffix, fact.chunk.host
        latest[chunk_id(fact.chunk)] = until.get(host, -np.inf)
        until[host] = max(until.get(host, -np.inf), fact.latest)
    return latest


def _bounds(
    ordered: Iterable[Facts], suffix: str, latest: dict[ChunkId, float], rows_a_part: int
) -> list[Key]:
    """Return keys that divide the rows into parts of about `rows_a_part` rows."""
    stable = [fact for fact in ordered if fact.chunk.suffix == suffix and not fact.chunk.is_ring]
    keys = sorted(
        (max(time, latest[chunk_id(fact.chunk)]), fact.chunk.host, begin, fact.num_rows / len(fact.samples))
        for fact in stable
        for time, begin in fact.samples
    )
    bounds, rows = [], 0.0
    for time, host, begin, weight in keys:
        if rows >= rows_a_part:
            bounds.append((time, host, begin))
            rows = 0.0
        rows += weight
    return bounds


@dataclass(frozen=True)
class Slice:
    """Rows of one chunk that belong to one part.

    Attributes:
      chunk: The chunk to read; its first ``num_rows`` rows are the slice.
      num_rows: Number of rows.
      num_bad: Number of bad rows.
      latest: The latest time of the host before the rows.
    """

    chunk: Chunk
    num_rows: int
    num_bad: int
    latest: float


def cut(spans: RowSpans, layout: Layout) -> Iterator[tuple[PartId, Slice]]:
    """Cut the rows of a chunk at the bounds of the parts.

    Args:
      spans: Positions and times of the rows.
      layout: Holds the bounds.

    Yields:
      The id of each part that has rows of the chunk, and these rows.
    """
    chunk = spans.chunk
    bounds, count = layout.bounds[chunk.suffix], len(spans.times)
    before = layout.latest[chunk_id(chunk)]
    if chunk.is_ring:
        if count:
            yield (chunk.suffix, len(bounds) + 1), Slice(chunk, count, int(spans.is_bad.sum()), before)
        return
    times = never_falling(spans.times, before)
    stops = [0, *(_row_at(bound, times, spans) for bound in bounds), count]
    for part, (begin, end) in enumerate(itertools.pairwise(stops)):
        if begin < end:
            first, after = int(spans.begins[begin]), int(spans.ends[end - 1])
            piece = Chunk(
                chunk.files, chunk.host, chunk.suffix, chunk.number, FileState(first), after - first
            )
            latest = float(times[begin - 1]) if begin else before
            yield (
                (chunk.suffix, part),
                Slice(piece, end - begin, int(spans.is_bad[begin:end].sum()), latest),
            )


def _row_at(bound: Key, times: npt.NDArray[np.float64], spans: RowSpans) -> int:
    """Return the first row of a chunk that is at or after a bound."""
    time, host, begin = bound
    if host != spans.chunk.host:
        return int(np.searchsorted(times, time, "right" if spans.chunk.host < host else "left"))
    first, last = np.searchsorted(times, time, "left"), np.searchsorted(times, time, "right")
    return int(first + np.searchsorted(spans.begins[first:last], begin, "left"))
