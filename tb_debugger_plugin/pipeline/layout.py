"""What every worker has to know before rows can be written: numbers, and where each list is cut into parts.

In come the facts of all chunks, out come the registry of the run, the latest time before each chunk, and the
bounds of the parts. All of this is made at one place: it is as long as the program, not as the run.

Rule: rows are in the order of their keys (latest time of the host, host, place in the file), which is the
order of :mod:`tb_debugger_plugin.index.merge`; a part holds the rows between two keys, and those of the rings
of circular buffers, which come last, are a part of their own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES, SUFFIXES, TAILED
from tb_debugger_plugin.index.describe import Describer, Host
from tb_debugger_plugin.index.merge import never_falling
from tb_debugger_plugin.index.registry import Registry
from tb_debugger_plugin.index.runs import Run
from tb_debugger_plugin.index.source import FileState, Notice, SetFile
from tb_debugger_plugin.pipeline.survey import Chunk, Facts, Names, Places

#: Of a part, about: what one worker holds in memory.
ROWS_A_PART: Final = 500_000
_READ_BYTES: Final = 64 << 20

#: Latest time of the host, host, beginning of the record.
Key = tuple[float, int, int]
ChunkId = tuple[str, int, int, bool]
PartId = tuple[str, int]


@dataclass(frozen=True)
class Layout:
    """What every worker has to know.

    Attributes:
      registry: Numbers everything that any record names.
      latest: The latest time of the host before each chunk.
      bounds: Of each list, the keys at which parts begin, but for the first.
    """

    registry: Registry
    latest: dict[ChunkId, float]
    bounds: dict[str, list[Key]]


@dataclass(frozen=True)
class Described:
    """What the short files say, and what is known of all files.

    Attributes:
      describer: With the rows of the short tables.
      hosts: One for each file set.
      states: Of each file, by host and suffix, at its end.
      dropped: How many records its ring has overwritten.
      notices: What had to be left out.
    """

    describer: Describer
    hosts: list[Host]
    states: dict[tuple[int, str], FileState]
    dropped: dict[tuple[int, str], int]
    notices: list[Notice]


def chunk_id(chunk: Chunk) -> ChunkId:
    """What tells a chunk from all others; sorts those of a host as they are in the file, its ring last."""
    return chunk.suffix, chunk.host, chunk.number, chunk.is_ring


def lay_out(run: Run, facts: Sequence[Facts], rows_a_part: int = ROWS_A_PART) -> tuple[Layout, Described]:
    """Put together what is known of all chunks.

    Args:
      run: The run.
      facts: Of all chunks of its long files.
      rows_a_part: About how many rows a part shall have.
    """
    # As the local index does: traces, of one host after the other, then executions.
    order = {GRAPH_EXECUTION_TRACES: 0, EXECUTION: 1}
    ordered = sorted(facts, key=lambda one: (order[one.chunk.suffix], chunk_id(one.chunk)))
    described = _describe(run)
    for one in ordered:
        _absorb(described.describer.registry, one.names)
        key = one.chunk.host, one.chunk.suffix
        described.notices.extend(one.notices)
        if one.chunk.is_ring:
            described.dropped[key] = one.dropped
        else:
            described.states[key] = one.state
    latest = _latest(ordered)
    bounds = {suffix: _bounds(ordered, suffix, latest, rows_a_part) for suffix in TAILED}
    return Layout(described.describer.registry, latest, bounds), described


def _describe(run: Run) -> Described:
    describer = Describer(Registry())
    hosts = [
        Host(number, files, files.host, float(files.start_seconds))
        for number, files in enumerate(run.file_sets)
    ]
    described = Described(describer, hosts, {}, {}, [])
    for host in hosts:
        for suffix in SUFFIXES:
            if suffix not in TAILED:
                _read_short(described, host, suffix)
    return described


def _read_short(described: Described, host: Host, suffix: str) -> None:
    file, state, more = SetFile(host.files, suffix), FileState(), True
    while more:
        batch = file.read(state, _READ_BYTES)
        state, more = batch.state, batch.more
        described.notices.extend(batch.notices)
        for event in batch.events:
            described.describer.add(host, event)
    described.states[host.number, suffix] = state


def _absorb(registry: Registry, names: Names) -> None:
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
    until: dict[tuple[str, int], float] = {}
    found: dict[ChunkId, float] = {}
    for one in ordered:
        host = one.chunk.suffix, one.chunk.host
        found[chunk_id(one.chunk)] = until.get(host, -np.inf)
        until[host] = max(until.get(host, -np.inf), one.latest)
    return found


def _bounds(
    ordered: Iterable[Facts], suffix: str, latest: dict[ChunkId, float], rows_a_part: int
) -> list[Key]:
    """Keys between which there are about as many rows as a part shall have."""
    chosen = [one for one in ordered if one.chunk.suffix == suffix and not one.chunk.is_ring]
    keys = sorted(
        (max(time, latest[chunk_id(one.chunk)]), one.chunk.host, begin, one.num_rows / len(one.samples))
        for one in chosen
        for time, begin in one.samples
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
    """Rows of one chunk that belong into one part.

    Attributes:
      chunk: Where to read them: its first ``num_rows`` rows.
      num_rows: How many.
      num_bad: How many of them are bad.
      latest: The latest time of the host before them.
    """

    chunk: Chunk
    num_rows: int
    num_bad: int
    latest: float


def cut(places: Places, layout: Layout) -> Iterator[tuple[PartId, Slice]]:
    """Cut the rows of a chunk at the bounds of the parts.

    Args:
      places: Of the rows.
      layout: With the bounds.

    Yields:
      For each part that has rows of the chunk: which part, and these.
    """
    chunk = places.chunk
    bounds, count = layout.bounds[chunk.suffix], len(places.times)
    before = layout.latest[chunk_id(chunk)]
    if chunk.is_ring:
        if count:
            yield (chunk.suffix, len(bounds) + 1), Slice(chunk, count, int(places.is_bad.sum()), before)
        return
    times = never_falling(places.times, before)
    stops = [0, *(_place_of(bound, times, places) for bound in bounds), count]
    for part, (begin, end) in enumerate(itertools.pairwise(stops)):
        if begin < end:
            first, behind = int(places.begins[begin]), int(places.ends[end - 1])
            where = Chunk(
                chunk.files, chunk.host, chunk.suffix, chunk.number, FileState(first), behind - first
            )
            latest = float(times[begin - 1]) if begin else before
            yield (
                (chunk.suffix, part),
                Slice(where, end - begin, int(places.is_bad[begin:end].sum()), latest),
            )


def _place_of(bound: Key, times: npt.NDArray[np.float64], places: Places) -> int:
    time, host, begin = bound
    if host != places.chunk.host:
        return int(np.searchsorted(times, time, "right" if places.chunk.host < host else "left"))
    first, last = np.searchsorted(times, time, "left"), np.searchsorted(times, time, "right")
    return int(first + np.searchsorted(places.begins[first:last], begin, "left"))
