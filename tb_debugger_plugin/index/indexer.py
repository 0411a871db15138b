"""One run's files into its database, step by step.

In come a run and its open database; each :meth:`Indexer.step` reads what is new, up to a limit, and commits
it as a whole: rows, places to resume at, and a generation number one higher. Killed between two steps, the
next indexer goes on where the last commit ended.

Rules: positions of committed rows never change, except those of a circular buffer's ring, which are taken
back when the ring turns; rows of several hosts are merged by time.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final

import duckdb
import numpy as np

from tb_debugger_plugin.events import tail
from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES, SUFFIXES, TAILED
from tb_debugger_plugin.index import decode, schema
from tb_debugger_plugin.index.columns import insert, insert_rows
from tb_debugger_plugin.index.describe import Describer, Host
from tb_debugger_plugin.index.registry import Registry, load_registry
from tb_debugger_plugin.index.runs import Run
from tb_debugger_plugin.index.source import (
    Batch,
    FileState,
    Notice,
    SetFile,
    ring_events,
    ring_frames,
    unreadable,
)
from tb_debugger_plugin.index.traces import TraceDecoder, TraceRows, joined

_SHORT: Final = tuple(suffix for suffix in SUFFIXES if suffix not in TAILED)
_KIND: Final = "execution"
#: About how many bytes of each file one step reads: enough traces to fill whole row groups of the table,
#: which are written three times as fast as what has to pass through the database's log.
STEP_BYTES: Final = 64 << 20
#: Of one file; a file that is damaged everywhere must not fill the page.
_MAX_NOTICES: Final = 20
_FILE_KINDS: Final = {
    **{
        "host": "i4",
        "suffix": "O",
        "name": "O",
        "fingerprint": "O",
        "resume": "i8",
        "size": "i8",
        "state": "O",
        "dropped": "i8",
    }
}
_HOST_KINDS: Final = {
    **{"host": "i4", "name": "O", "file_prefix": "O", "start_time": "f8", "tensorflow_version": "O"},
    **{"file_version": "O", "recorder_version": "O", "mode": "u1", "circular_buffer_size": "i8"},
    **{"process_id": "i8", "program": "O", "seen_executions": "i8", "seen_traces": "i8", "finished": "?"},
    **{"failure": "O"},
}


@dataclass(frozen=True)
class Progress:
    """How far reading has come.

    Attributes:
      generation: Of the last commit.
      bytes_done: Read so far.
      bytes_total: There are now.
      more: Whether there is more to read at once.
    """

    generation: int
    bytes_done: int
    bytes_total: int
    more: bool


class Indexer:
    """Keeps one run's database up to date; lives from its making to :meth:`close`, in one thread.

    While one batch is written, a second thread reads the next one.

    Args:
      run: The run.
      connection: To its database; may hold what an earlier indexer committed.
      step_bytes: About how many bytes of each file one step reads.
    """

    def __init__(
        self, run: Run, connection: duckdb.DuckDBPyConnection, *, step_bytes: int = STEP_BYTES
    ) -> None:
        self._run = run
        self._connection = connection
        self._step_bytes = step_bytes
        self._reader = ThreadPoolExecutor(1, "tb-debugger-reader")
        self._ahead: Future[dict[tuple[int, str], Batch]] | None = None
        self._files = {
            (host, suffix): SetFile(files, suffix)
            for host, files in enumerate(run.file_sets)
            for suffix in SUFFIXES
        }
        self._load()

    def _load(self) -> None:
        self._meta = schema.read_meta(self._connection)
        self.generation = int(self._meta.get("generation", "0"))
        known = tuple(self._meta.get("file_sets", "").split("\n"))
        if known != tuple(self._labels()):
            self._reset()
        self._restore()
        if not all(file.is_same(self._states[key]) for key, file in self._files.items()):
            self._reset()
            self._restore()

    def _labels(self) -> Iterator[str]:
        """What tells the file sets of the run apart: hosts may have a folder each."""
        return (str(files.path("").relative_to(self._run.folder)) for files in self._run.file_sets)

    def _reset(self) -> None:
        self._connection.execute("BEGIN")
        for table in schema.TABLES:
            self._connection.execute(f"DELETE FROM {table} WHERE true")
        schema.write_meta(
            self._connection,
            schema_version=schema.SCHEMA_VERSION,
            generation=self.generation + 1,
            dump_root=self._run.folder.resolve(),
            file_sets="\n".join(self._labels()),
        )
        self._connection.execute("COMMIT")
        self.generation += 1

    def _restore(self) -> None:
        registry: Registry = load_registry(self._connection)
        self._describer = Describer(registry, num_sources=self._count("sources"))
        self._decoders = [TraceDecoder(registry, host) for host in range(len(self._run.file_sets))]
        for host, count in self._rows("SELECT host, count(*) FROM sources GROUP BY host"):
            self._describer.file_counts[host] = count
        self._describer.devices.update(self._rows("SELECT host, device_id FROM devices"))
        self._states = {key: FileState() for key in self._files}
        self._dropped = dict.fromkeys(self._files, 0)
        for host, suffix, fingerprint, resume, size, state, dropped in self._rows(
            "SELECT host, suffix, fingerprint, resume, size, state, dropped FROM files"
        ):
            self._states[host, suffix] = FileState(resume, size, state, fingerprint)
            self._dropped[host, suffix] = dropped
        self._notice_counts: dict[str, int] = dict(
            self._rows("SELECT file, count(*) FROM notices GROUP BY file")
        )
        self._rings: dict[tuple[int, str], tuple[int, int]] | None = {}
        meta = schema.read_meta(self._connection)
        self._written = "catalog_generation" in meta
        self._catalog_generation = int(meta.get("catalog_generation", "0"))
        self._stable = {suffix: int(meta.get(f"stable_{suffix}", "0")) for suffix in TAILED}
        self._stable_bad = int(meta.get("stable_bad", "0"))
        counts = {EXECUTION: self._count("executions"), GRAPH_EXECUTION_TRACES: self._count("traces")}
        if counts != self._stable:
            self._rings = None  # rows of a ring are left from before; whatever is there now replaces them
        self._hosts = [
            Host(number, files, files.host, float(files.start_seconds))
            for number, files in enumerate(self._run.file_sets)
        ]
        self._restore_hosts()

    def _restore_hosts(self) -> None:
        columns = ", ".join(_HOST_KINDS)
        for number, name, _, *fields in self._rows(f"SELECT {columns} FROM hosts"):
            files = self._run.file_sets[number]
            self._hosts[number] = Host(number, files, name, *fields)

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(query).fetchall()

    def _count(self, table: str) -> int:
        return int(self._rows(f"SELECT count(*) FROM {table}")[0][0])

    @property
    def finished(self) -> bool:
        """Whether every host has said that nothing will follow."""
        return all(host.finished for host in self._hosts)

    def signature(self) -> tuple[tuple[int, ...], ...]:
        """Changes whenever a step might find something new; costs a few stats a file."""
        return tuple(file.signature() for file in self._files.values())

    def was_replaced(self) -> bool:
        """Whether a file has become another one, so that all must be read again."""
        return not all(file.is_same(self._states[key]) for key, file in self._files.items())

    def reset(self) -> None:
        """Forget all rows and read everything again."""
        self._forget_ahead()
        self._reset()
        self._restore()

    def step(self) -> Progress:
        """Read and commit what is new, up to the limit.

        Returns:
          How far it has come; call again at once while ``more``.

        Raises:
          duckdb.Error: The database cannot be written; this indexer is of no more use.
        """
        ahead, self._ahead = self._ahead, None
        batches = ahead.result() if ahead else self._read(self._states)
        rings = {key: ring for key in self._files if (ring := self._read_ring(key))}
        counters = {key: (ring.tail, ring.head) for key, ring in rings.items()}
        if self._written and not self._is_news(batches) and counters == self._rings:
            return self._progress(False)
        self._rings = counters
        self._connection.execute("BEGIN")
        try:
            self._write(batches, rings)
            self._connection.execute("COMMIT")
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        return self._progress(any(batch.more for batch in batches.values()))

    def close(self) -> None:
        """Stop reading ahead."""
        self._forget_ahead()
        self._reader.shutdown()

    def _forget_ahead(self) -> None:
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            ahead.exception()  # what it was going to say does not matter any more

    def _read(self, states: dict[tuple[int, str], FileState]) -> dict[tuple[int, str], Batch]:
        batches = {key: file.read(states[key], self._step_bytes) for key, file in self._files.items()}
        for (host, suffix), batch in batches.items():
            if suffix in _SHORT:
                for event in batch.events:
                    self._describer.add(self._hosts[host], event)
        for host in self._numbers():
            self._decode_traces(host, batches[host, GRAPH_EXECUTION_TRACES])
        for suffix in TAILED:
            self._align({host: batches[host, suffix] for host in self._numbers()}, suffix, batches)
        return batches

    def _is_news(self, batches: dict[tuple[int, str], Batch]) -> bool:
        return any(
            batch.events or batch.traces or batch.state != self._states[key] for key, batch in batches.items()
        )

    def _decode_traces(self, host: int, batch: Batch) -> None:
        name = self._files[host, GRAPH_EXECUTION_TRACES].path.name
        parts = []
        for frames in batch.frames:
            rows, unreadable_records = self._decoders[host].decode(frames)
            parts.append(rows)
            batch.notices += [unreadable(name, bad.offset, bad.reason) for bad in unreadable_records]
        batch.frames.clear()
        batch.traces = joined(parts) if parts else None

    def _read_ring(self, key: tuple[int, str]) -> tail.Tail | None:
        state = self._files[key].read_tail()
        return state if state is not None and state.mode is tail.TailMode.RING else None

    def _progress(self, more: bool) -> Progress:
        done = sum(state.resume for state in self._states.values())
        total = sum(max(state.size, state.resume) for state in self._states.values())
        return Progress(self.generation, done, total, more)

    def _align(self, by_host: dict[int, Batch], suffix: str, batches: dict[tuple[int, str], Batch]) -> None:
        # Rows of a host must not overtake those of another that has not been read as far in time.
        if len(by_host) < 2:
            return
        times = {host: batch.times() for host, batch in by_host.items()}
        unfinished = [times[host] for host, batch in by_host.items() if batch.more and len(times[host])]
        if not unfinished:
            return
        horizon = min(found.max() for found in unfinished)
        for host, batch in by_host.items():
            beyond = np.flatnonzero(times[host] > horizon)
            if len(beyond):
                batches[host, suffix] = batch.cut(int(beyond[0]))

    def _write(self, batches: dict[tuple[int, str], Batch], rings: dict[tuple[int, str], tail.Tail]) -> None:
        # A ring is drained into its file now and then; what has been read from there is not read again.
        turning = {key: ring.after(batches[key].state.resume) for key, ring in rings.items()}
        self._dropped.update((key, ring.dropped) for key, ring in rings.items())
        self._take_back()
        self._append_executions(batches, turning)
        traces = _merged_traces([batches[host, GRAPH_EXECUTION_TRACES].traces for host in self._numbers()])
        ring = _merged_traces([self._ring_traces(host, turning) for host in self._numbers()])
        self._describer.save(self._connection)
        described = self._describer.registry.save(self._connection)
        self._states = {key: batch.state for key, batch in batches.items()}
        hosts = [host.fields() for host in self._hosts]
        if any(batch.more for batch in batches.values()):
            # What follows needs neither the describer nor the registry, which reading changes.
            self._ahead = self._reader.submit(self._read, dict(self._states))
        if traces is not None:
            self._stable_bad += self._insert_traces(traces)
            self._stable[GRAPH_EXECUTION_TRACES] += len(traces)
        if ring is not None:
            self._insert_traces(ring)
        self._save_states(batches, hosts, described)

    def _take_back(self) -> None:
        stable = self._stable[EXECUTION]
        for table in schema.PROVISIONAL:
            self._connection.execute(f"DELETE FROM {table} WHERE idx >= {stable}")
        self._connection.execute(f"DELETE FROM traces WHERE idx >= {self._stable[GRAPH_EXECUTION_TRACES]}")
        self._connection.execute(f"DELETE FROM bad_traces WHERE bad >= {self._stable_bad}")

    def _append_executions(
        self, batches: dict[tuple[int, str], Batch], turning: dict[tuple[int, str], bytes]
    ) -> None:
        rows = _merged([self._batch_rows(host, batches[host, EXECUTION]) for host in self._numbers()])
        self._insert_executions(rows)
        self._stable[EXECUTION] += len(rows)
        self._insert_executions(_merged([self._ring_rows(host, turning) for host in self._numbers()]))

    def _numbers(self) -> range:
        return range(len(self._hosts))

    def _batch_rows(self, host: int, batch: Batch) -> list[decode.Row]:
        return [decode.Row(host, event) for event in batch.events if event.HasField(_KIND)]

    def _ring_rows(self, host: int, turning: dict[tuple[int, str], bytes]) -> list[decode.Row]:
        events = ring_events(turning.get((host, EXECUTION), b""))
        return [decode.Row(host, event) for event in events if event.HasField(_KIND)]

    def _ring_traces(self, host: int, turning: dict[tuple[int, str], bytes]) -> TraceRows | None:
        frames = ring_frames(turning.get((host, GRAPH_EXECUTION_TRACES), b""))
        parts = [self._decoders[host].decode(some)[0] for some in frames]
        return replace(joined(parts), offsets=np.full(sum(map(len, parts)), -1)) if parts else None

    def _insert_executions(self, rows: list[decode.Row]) -> None:
        if not rows:
            return
        first = self._stable[EXECUTION]
        columns = decode.execution_columns(rows, self._describer.registry, first)
        insert(self._connection, "executions", columns.executions)
        insert(self._connection, "execution_inputs", columns.inputs)
        insert(self._connection, "execution_outputs", columns.outputs)

    def _insert_traces(self, rows: TraceRows) -> int:
        traces = decode.trace_columns(rows, self._stable[GRAPH_EXECUTION_TRACES])
        bad = decode.bad_columns(traces, self._stable_bad)
        insert(self._connection, "traces", traces)
        insert(self._connection, "bad_traces", bad)
        return len(bad["idx"])

    def _save_states(
        self, batches: dict[tuple[int, str], Batch], hosts: list[tuple[Any, ...]], described: bool
    ) -> None:
        self._save_notices(itertools.chain.from_iterable(batch.notices for batch in batches.values()))
        self._connection.execute("DELETE FROM files")
        insert_rows(self._connection, "files", _FILE_KINDS, [self._file_row(key) for key in self._files])
        self._connection.execute("DELETE FROM hosts")
        insert_rows(self._connection, "hosts", _HOST_KINDS, hosts)
        self.generation += 1
        self._written = True
        if described:
            self._catalog_generation = self.generation
        stable = {f"stable_{suffix}": count for suffix, count in self._stable.items()}
        schema.write_meta(
            self._connection,
            generation=self.generation,
            catalog_generation=self._catalog_generation,
            stable_bad=self._stable_bad,
            **stable,
        )

    def _file_row(self, key: tuple[int, str]) -> tuple[Any, ...]:
        host, suffix = key
        state = self._states[key]
        name = self._files[key].path.name
        place = (state.resume, state.size, state.state)
        return (host, suffix, name, state.fingerprint, *place, self._dropped[key])

    def _save_notices(self, notices: Iterator[Notice]) -> None:
        rows = []
        for notice in notices:
            count = self._notice_counts[notice.file] = self._notice_counts.get(notice.file, 0) + 1
            if count <= _MAX_NOTICES:
                rows.append(("warning", notice.file, notice.position, notice.message))
        kinds = {"severity": "O", "file": "O", "position": "i8", "message": "O"}
        insert_rows(self._connection, "notices", kinds, rows)


def _merged_traces(hosts: list[TraceRows | None]) -> TraceRows | None:
    parts = [rows for rows in hosts if rows]
    if not parts:
        return None
    # As for executions; a stable sort keeps the order of hosts and, within one, that of its file.
    times = np.concatenate([np.maximum.accumulate(rows.times) for rows in parts])
    rows = joined(parts)
    return rows if len(parts) == 1 else rows.take(np.argsort(times, kind="stable"))


def _merged(hosts: list[list[decode.Row]]) -> list[decode.Row]:
    if len(hosts) == 1:
        return hosts[0]
    timed = [_with_times(rows) for rows in hosts]
    return [row for _, _, _, row in heapq.merge(*timed, key=lambda item: item[:3])]


def _with_times(rows: list[decode.Row]) -> list[tuple[float, int, int, decode.Row]]:
    # Within a host the order of the file counts, so the times that are compared never fall.
    times = itertools.accumulate((row.event.wall_time for row in rows), max)
    return [(time, row.host, number, row) for number, (time, row) in enumerate(zip(times, rows, strict=True))]
