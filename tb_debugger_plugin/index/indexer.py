"""Indexes the files of one run into its database, step by step.

Takes a run and its open database. Each :meth:`Indexer.step` reads what is new, up to a limit, and makes one
commit: rows, the offsets to resume at, and a generation number that is one higher. If the process is killed
between two steps, the next indexer continues after the last commit.

Invariants: positions of committed rows never change, except those of a circular buffer's ring, which are
taken back when the ring turns; rows of several hosts are merged by time.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, Final

import duckdb
import numpy as np

from tb_debugger_plugin.events import tail
from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES, SUFFIXES, TAILED
from tb_debugger_plugin.index import decode, schema
from tb_debugger_plugin.index.bookkeeping import (
    file_row,
    load_hosts,
    load_notices,
    replace_files,
    replace_hosts,
)
from tb_debugger_plugin.index.columns import insert
from tb_debugger_plugin.index.describe import load_describer, new_hosts
from tb_debugger_plugin.index.hosts import WORTH_BYTES, HostTraces
from tb_debugger_plugin.index.merge import Latest, cut_to_horizon, merge_executions, merge_traces
from tb_debugger_plugin.index.remote_pool import RemotePool, read_ahead
from tb_debugger_plugin.index.rows import FileRow, HostRow
from tb_debugger_plugin.index.runs import Run
from tb_debugger_plugin.index.source import (
    Batch,
    FileState,
    SetFile,
    ring_events,
    ring_frames,
)
from tb_debugger_plugin.index.traces import TraceRows

_SHORT: Final = tuple(suffix for suffix in SUFFIXES if suffix not in TAILED)
_KIND: Final = "execution"
#: About how many bytes of traces one step reads: enough traces to fill whole row groups of the table, which
#: are written three times as fast as rows that have to pass through the database's log.
STEP_BYTES: Final = 64 << 20
#: A step reads this many times less from files whose records are parsed one by one: as objects they take much
#: more memory than as bytes, and more time.
_PARSED_SHARE: Final = 8


@dataclass(frozen=True)
class Progress:
    """The progress of reading.

    Attributes:
      generation: The number of the last commit.
      bytes_done: Bytes read so far.
      bytes_total: Bytes in the files now.
      more: Whether there is more to read now.
    """

    generation: int
    bytes_done: int
    bytes_total: int
    more: bool


class Indexer:
    """Keeps one run's database up to date; lives in one thread until :meth:`close`.

    While one batch is written, a second thread reads the next one.

    Args:
      run: The run.
      connection: A connection to its database, which may hold commits of an earlier indexer.
      step_bytes: About how many bytes of the longest kind of file one step reads, all hosts together.
      worth_bytes: Bytes that several hosts must have left to read before processes are started.
    """

    def __init__(
        self,
        run: Run,
        connection: duckdb.DuckDBPyConnection,
        *,
        step_bytes: int = STEP_BYTES,
        worth_bytes: int = WORTH_BYTES,
    ) -> None:
        self._run = run
        self._connection = connection
        self._step_bytes = step_bytes
        self._worth_bytes = worth_bytes
        self._pool = RemotePool(run.folder)
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
        if not self._are_same():
            self._reset()
            self._restore()

    def _labels(self) -> Iterator[str]:
        """Yields the labels that distinguish the file sets of the run: hosts may have a folder each."""
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
        hosts = new_hosts(self._run.file_sets)
        for host in load_hosts(self._connection):
            hosts[host.host] = host
        self._describer = load_describer(self._connection, hosts)
        registry = self._describer.registry
        self._traces = HostTraces(self._run.file_sets, registry, self._pool, worth_bytes=self._worth_bytes)
        self._states = {key: FileState() for key in self._files}
        self._dropped = dict.fromkeys(self._files, 0)
        for host, suffix, fingerprint, resume, size, state, dropped in self._rows(
            "SELECT host, suffix, fingerprint, resume, size, state, dropped FROM files"
        ):
            self._states[host, suffix] = FileState(resume, size, state, fingerprint)
            self._dropped[host, suffix] = dropped
        self._notices = load_notices(self._connection)
        self._rings: dict[tuple[int, str], tuple[int, int]] | None = {}
        meta = schema.read_meta(self._connection)
        self._written = "catalog_generation" in meta
        self._catalog_generation = int(meta.get("catalog_generation", "0"))
        self._stable = {suffix: int(meta.get(f"stable_{suffix}", "0")) for suffix in TAILED}
        self._stable_bad = int(meta.get("stable_bad", "0"))
        counts = {
            EXECUTION: self._count("executions"),
            GRAPH_EXECUTION_TRACES: self._count("graph_executions"),
        }
        if counts != self._stable:
            self._rings = None  # the rows of an earlier ring are still there; the present ring replaces them
        self._restore_latest()

    def _restore_latest(self) -> None:
        self._latest: dict[str, Latest] = {suffix: {} for suffix in TAILED}
        if len(self._run.file_sets) > 1:
            query = "SELECT host, max(wall_time) FROM {} WHERE idx < {} GROUP BY host"
            traces = "graph_executions JOIN sites USING (site)"
            for suffix, table in ((EXECUTION, "executions"), (GRAPH_EXECUTION_TRACES, traces)):
                self._latest[suffix].update(self._rows(query.format(table, self._stable[suffix])))

    def _have_new_names(self) -> bool:
        """Whether the names of hosts have changed since they were committed."""
        committed = [(host.name, host.process_id) for host in load_hosts(self._connection)]
        return committed != [(host.name, host.process_id) for host in self._describer.hosts]

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(query).fetchall()

    def _count(self, table: str) -> int:
        return int(self._rows(f"SELECT count(*) FROM {table}")[0][0])

    @property
    def finished(self) -> bool:
        """Whether every host has recorded its end."""
        return all(host.finished for host in self._describer.hosts)

    def signature(self) -> tuple[tuple[int, ...], ...]:
        """Returns a value that changes when there may be something new; costs a few stats per file."""
        return tuple(self._pool.map(SetFile.signature, self._files.values()))

    def was_replaced(self) -> bool:
        """Whether a file was replaced by another one, so that everything must be read again."""
        return not self._are_same()

    def _are_same(self) -> bool:
        return all(self._pool.map(lambda key: self._files[key].is_same(self._states[key]), self._files))

    def reset(self) -> None:
        """Forget all rows, so that everything is read again."""
        self._forget_ahead()
        self._traces.close()
        self._reset()
        self._restore()

    def step(self) -> Progress:
        """Read and commit what is new, up to the limit.

        Returns:
          The progress; call again at once while ``more``.

        Raises:
          duckdb.Error: The database cannot be written; this indexer cannot be used any more.
        """
        ahead, self._ahead = self._ahead, None
        batches = ahead.result() if ahead else self._read(self._states)
        tails = self._pool.map(self._read_ring, self._files)
        rings = {key: ring for key, ring in zip(self._files, tails, strict=True) if ring is not None}
        counters = {key: (ring.tail, ring.head) for key, ring in rings.items()}
        if self._written and not self._has_news(batches) and counters == self._rings:
            return self._progress(False)
        self._rings = counters
        self._connection.execute("BEGIN")
        try:
            self._write(batches, rings)
            self._connection.execute("COMMIT")
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        more = any(batch.more for batch in batches.values())
        if not more:
            self._traces.close()
        return self._progress(more)

    def close(self) -> None:
        """Stop reading ahead."""
        self._forget_ahead()
        self._traces.close()

    def _forget_ahead(self) -> None:
        ahead, self._ahead = self._ahead, None
        if ahead is not None and not ahead.cancel():
            ahead.exception()  # waits; the result does not matter any more

    def _read(self, states: dict[tuple[int, str], FileState]) -> dict[tuple[int, str], Batch]:
        limit = max(1, self._step_bytes // _PARSED_SHARE // len(self._describer.hosts))
        resume_at = [states[host, GRAPH_EXECUTION_TRACES] for host in self._numbers()]
        traces = self._traces.start_reading(resume_at, self._step_bytes)
        others = [key for key in self._files if key[1] != GRAPH_EXECUTION_TRACES]
        read = self._pool.map(lambda key: self._files[key].read(states[key], limit), others)
        batches = dict(zip(others, read, strict=True))
        for (host, suffix), batch in batches.items():
            if suffix in _SHORT:
                for event in batch.events:
                    self._describer.add(host, event)
        batches.update(((host, GRAPH_EXECUTION_TRACES), batch) for host, batch in enumerate(traces()))
        for suffix in TAILED:
            hosts = {host: batches[host, suffix] for host in self._numbers()}
            hosts = cut_to_horizon(hosts, self._latest[suffix])
            batches.update(((host, suffix), batch) for host, batch in hosts.items())
        return batches

    def _has_news(self, batches: dict[tuple[int, str], Batch]) -> bool:
        return any(
            batch.events or batch.traces or batch.state != self._states[key] for key, batch in batches.items()
        )

    def _read_ring(self, key: tuple[int, str]) -> tail.Tail | None:
        state = self._files[key].read_tail()
        return state if state is not None and state.mode is tail.TailMode.RING else None

    def _progress(self, more: bool) -> Progress:
        done = sum(state.resume for state in self._states.values())
        total = sum(max(state.size, state.resume) for state in self._states.values())
        return Progress(self.generation, done, total, more)

    def _write(self, batches: dict[tuple[int, str], Batch], rings: dict[tuple[int, str], tail.Tail]) -> None:
        # A ring is drained into its file now and then; records that were read from the file are skipped.
        turning = {key: ring.after(batches[key].state.resume) for key, ring in rings.items()}
        self._dropped.update((key, ring.dropped) for key, ring in rings.items())
        self._take_back()
        self._append_executions(batches, turning)
        latest = self._latest[GRAPH_EXECUTION_TRACES]
        read = {host: batches[host, GRAPH_EXECUTION_TRACES].traces for host in self._numbers()}
        traces = merge_traces(read, latest)
        ring = merge_traces(
            {host: self._ring_traces(host, turning) for host in self._numbers()}, dict(latest)
        )
        self._describer.save(self._connection)
        catalog_changed = self._describer.registry.save(self._connection) or self._have_new_names()
        self._states = {key: batch.state for key, batch in batches.items()}
        hosts = list(self._describer.hosts)
        if any(batch.more for batch in batches.values()):
            # The rest of this method uses neither the describer nor the registry, which reading changes.
            self._ahead = read_ahead(functools.partial(self._read, dict(self._states)))
        if traces is not None:
            self._stable_bad += self._insert_traces(traces)
            self._stable[GRAPH_EXECUTION_TRACES] += len(traces)
        if ring is not None:
            self._insert_traces(ring)
        self._save_states(batches, hosts, catalog_changed)

    def _take_back(self) -> None:
        stable = self._stable[EXECUTION]
        for table in schema.PROVISIONAL:
            self._connection.execute(f"DELETE FROM {table} WHERE idx >= {stable}")
        self._connection.execute(
            f"DELETE FROM graph_executions WHERE idx >= {self._stable[GRAPH_EXECUTION_TRACES]}"
        )
        self._connection.execute(f"DELETE FROM bad_graph_executions WHERE bad >= {self._stable_bad}")

    def _append_executions(
        self, batches: dict[tuple[int, str], Batch], turning: dict[tuple[int, str], bytes]
    ) -> None:
        latest = self._latest[EXECUTION]
        read = {host: self._batch_rows(host, batches[host, EXECUTION]) for host in self._numbers()}
        rows = merge_executions(read, latest)
        self._insert_executions(rows)
        self._stable[EXECUTION] += len(rows)
        ring = {host: self._ring_rows(host, turning) for host in self._numbers()}
        self._insert_executions(merge_executions(ring, dict(latest)))

    def _numbers(self) -> range:
        return range(len(self._describer.hosts))

    def _batch_rows(self, host: int, batch: Batch) -> list[decode.Row]:
        return [decode.Row(host, event) for event in batch.events if event.HasField(_KIND)]

    def _ring_rows(self, host: int, turning: dict[tuple[int, str], bytes]) -> list[decode.Row]:
        events = ring_events(turning.get((host, EXECUTION), b""))
        return [decode.Row(host, event) for event in events if event.HasField(_KIND)]

    def _ring_traces(self, host: int, turning: dict[tuple[int, str], bytes]) -> TraceRows | None:
        frames = ring_frames(turning.get((host, GRAPH_EXECUTION_TRACES), b""))
        rows = self._traces.decode(host, frames)
        return replace(rows, offsets=np.full(len(rows), -1)) if rows is not None else None

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
        insert(self._connection, "graph_executions", traces)
        insert(self._connection, "bad_graph_executions", bad)
        return len(bad["idx"])

    def _save_states(
        self, batches: dict[tuple[int, str], Batch], hosts: list[HostRow], catalog_changed: bool
    ) -> None:
        notices = itertools.chain.from_iterable(batch.notices for batch in batches.values())
        self._notices.save(self._connection, notices)
        replace_files(self._connection, [self._file_row(key) for key in self._files])
        replace_hosts(self._connection, hosts)
        self.generation += 1
        self._written = True
        if catalog_changed:
            self._catalog_generation = self.generation
        stable = {f"stable_{suffix}": count for suffix, count in self._stable.items()}
        schema.write_meta(
            self._connection,
            generation=self.generation,
            catalog_generation=self._catalog_generation,
            stable_bad=self._stable_bad,
            **stable,
        )

    def _file_row(self, key: tuple[int, str]) -> FileRow:
        return file_row(*key, self._files[key].path.name, self._states[key], self._dropped[key])
