"""Imports the dump folders of tfdbg v1 into the database of a run, commit by commit.

Takes a run whose folder is a session root, or the folder of one call of ``Session.run``, and its open
database. The class has the methods of :class:`~tb_debugger_plugin.index.indexer.Indexer`, so a loader drives
either in the same way.

Invariants: dumps are rows in order of time; rows of files that may still be written are taken back by the
next commit, as those of a circular buffer's ring are.
"""

from __future__ import annotations

import bisect
import contextlib
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import duckdb
import numpy as np

from tb_debugger_plugin.events.dumps.folders import below
from tb_debugger_plugin.events.dumps.names import IDENTITY
from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES
from tb_debugger_plugin.events.framing import MAX_PAYLOAD
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.index import decode, schema
from tb_debugger_plugin.index.bookkeeping import load_notices, replace_hosts
from tb_debugger_plugin.index.bounds import bounded_text
from tb_debugger_plugin.index.columns import insert_lists
from tb_debugger_plugin.index.describe import load_describer
from tb_debugger_plugin.index.dumps import python_rows
from tb_debugger_plugin.index.dumps.call_rows import CallRows
from tb_debugger_plugin.index.dumps.calls import Dump, DumpCall, DumpCalls
from tb_debugger_plugin.index.dumps.python_rows import PythonRows, TimeRows
from tb_debugger_plugin.index.dumps.read_dumps import DumpBatch
from tb_debugger_plugin.index.indexer import COMMIT_BYTES, LoadProgress
from tb_debugger_plugin.index.rows import DumpFileRow, HostRow, kinds_of
from tb_debugger_plugin.index.runs import FoundRun
from tb_debugger_plugin.index.source import Notice
from tb_debugger_plugin.index.traces import trace_rows

#: Dumps that one commit has at most: a commit of so many small files takes about a second.
COMMIT_FILES: Final = 10_000
_HOST: Final = 0
_FORMAT: Final = "tfdbg v1"


@dataclass
class _Position:
    """How far a commit has come.

    Attributes:
      generation: The number of the commit.
      catalog_generation: The last generation at which graphs or ops changed.
      traces: The number of rows of ``graph_executions`` that stay.
      bad: The number of rows of ``bad_graph_executions`` that stay.
      files: The number of rows of ``dump_files`` that stay.
    """

    generation: int = 0
    catalog_generation: int = 0
    traces: int = 0
    bad: int = 0
    files: int = 0

    def count(self, rows: _Rows) -> None:
        """Move on by rows that were inserted."""
        self.traces += len(rows.identities)
        self.bad += rows.num_bad
        self.files += len(rows.dumps)

    def facts(self) -> dict[str, int]:
        """Return the position as key-value facts."""
        return {
            "generation": self.generation,
            "catalog_generation": self.catalog_generation,
            f"stable_{EXECUTION}": 0,
            f"stable_{GRAPH_EXECUTION_TRACES}": self.traces,
            "stable_bad": self.bad,
            "stable_files": self.files,
        }


class DumpImporter:
    """Keeps the database of a run of dumps up to date; lives until :meth:`close`.

    Args:
      run: The run.
      connection: A connection to its database, which may hold commits of an earlier importer.
      commit_bytes: About how many bytes one commit has.
      commit_files: How many files one commit has at most.
      clock: Returns seconds since the epoch, by the clock that the times of files have.
    """

    def __init__(
        self,
        run: FoundRun,
        connection: duckdb.DuckDBPyConnection,
        *,
        commit_bytes: int = COMMIT_BYTES,
        commit_files: int = COMMIT_FILES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._run = run
        self._connection = connection
        self._commit_bytes = commit_bytes
        self._commit_files = commit_files
        self._clock = clock
        if schema.read_meta(connection).get("dump_format") != _FORMAT:
            self._empty()
        self._load()
        if self.was_replaced():
            self.reset()

    def _empty(self) -> None:
        generation = int(schema.read_meta(self._connection).get("generation", "0"))
        with schema.transaction(self._connection):
            schema.empty_tables(
                self._connection,
                generation=generation + 1,
                dump_root=self._run.folder.resolve(),
                dump_format=_FORMAT,
            )

    def _load(self) -> None:
        meta = {
            name: int(value) for name, value in schema.read_meta(self._connection).items() if value.isdigit()
        }
        self._at = _Position(
            meta["generation"],
            meta.get("catalog_generation", 0),
            meta.get(f"stable_{GRAPH_EXECUTION_TRACES}", 0),
            meta.get("stable_bad", 0),
            meta.get("stable_files", 0),
        )
        self._calls = DumpCalls(self._run.folder, self._load_calls(), self._clock)
        self._describer = load_describer(self._connection, [_host(self._run)])
        self._python = PythonRows(self._run.folder, self._describer, meta.get(python_rows.OFFSET, 0))
        times = TimeRows(self._connection, self._describer)
        self._call_rows = CallRows(self._run.folder, self._describer, self._python, times)
        self._notices = load_notices(self._connection)
        self._waiting: list[Dump] = []
        self._listed: list[DumpCall] = []
        self._has_more_calls = False
        self._num_provisional = self._count("dump_files") - self._at.files

    def _count(self, table: str) -> int:
        return int(self._connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])

    def _load_calls(self) -> dict[str, DumpCall]:
        rows = self._connection.execute(
            "SELECT call, folder, settled FROM dump_calls ORDER BY call"
        ).fetchall()
        calls = {name: DumpCall(number, name, settled) for number, name, settled in rows}
        paths = (
            "SELECT folder, path FROM dump_files JOIN dump_calls USING (call) WHERE NOT settled AND file < ?"
        )
        for name, path in self._connection.execute(paths, [self._at.files]).fetchall():
            calls[name].final.add(path)
        return calls

    @property
    def generation(self) -> int:
        """The number of the last commit."""
        return self._at.generation

    @property
    def finished(self) -> bool:
        """Whether nothing was added recently; the program may have ended, or think."""
        return not any(call.hot for call in self._calls.by_name.values())

    def signature(self) -> tuple[tuple[int, ...], ...]:
        """Return a value that changes when there may be something new; costs a stat of each new folder."""
        return self._calls.signature()

    def was_replaced(self) -> bool:
        """Whether calls or dumps that were imported are gone, so that everything must be imported again."""
        if not self._calls.are_there():
            return True
        first = (
            "SELECT folder, first(path ORDER BY file), first(bytes ORDER BY file)"
            " FROM dump_files JOIN dump_calls USING (call) WHERE NOT settled AND file < ? GROUP BY folder"
        )
        rows = self._connection.execute(first, [self._at.files]).fetchall()
        return any(self._has_changed(*row) for row in rows)

    def _has_changed(self, folder: str, path: str, size: int) -> bool:
        try:
            now = below(below(self._run.folder, folder), path).stat().st_size
        except OSError:
            return True
        return min(now, MAX_PAYLOAD) != size

    def reset(self) -> None:
        """Forget all rows, so that everything is imported again."""
        self._empty()
        self._load()

    def advance(self) -> LoadProgress:
        """Import and commit the next dumps.

        Returns:
          The progress, in files; call again at once while ``more``.

        Raises:
          duckdb.Error: The database cannot be written; this importer cannot be used any more.
        """
        if not self._waiting:
            self._listed, self._waiting, self._has_more_calls = self._calls.find_new()
        if self._waiting or self._num_provisional or self._listed or not self._at.catalog_generation:
            with schema.transaction(self._connection):
                self._at = self._write()
        done = self._at.files + self._num_provisional
        more = bool(self._waiting) or self._has_more_calls
        return LoadProgress(self.generation, done, done + len(self._waiting), more)

    def _write(self) -> _Position:
        self._take_back()
        at = _Position(**vars(self._at))
        notices = [notice for call in self._listed for notice in self._call_rows.describe(call)]
        notices += self._insert_waiting(at)
        self._notices.save(self._connection, notices)
        replace_hosts(self._connection, self._describer.hosts)
        self._describer.save(self._connection)
        at.generation += 1
        if self._describer.registry.save(self._connection) or not at.catalog_generation:
            at.catalog_generation = at.generation
        waiting = {dump.call.number for dump in self._waiting}
        self._call_rows.save(self._connection, self._listed, waiting)
        for call in self._listed:
            if call.settled and call.number not in waiting:
                call.final.clear()
        schema.write_meta(self._connection, **at.facts(), **{python_rows.OFFSET: self._python.offset})
        return at

    def _take_back(self) -> None:
        first_rows = (
            ("graph_executions", "idx", self._at.traces),
            ("bad_graph_executions", "bad", self._at.bad),
            ("dump_files", "file", self._at.files),
        )
        for table, column, first in first_rows:
            self._connection.execute(f"DELETE FROM {table} WHERE {column} >= {first}")

    def _insert_waiting(self, at: _Position) -> list[Notice]:
        """Append rows of the dumps of a commit: final ones up to the limits, then young ones if it can."""
        notices: list[Notice] = []
        num_final = self._num_waiting_final()
        if num_final:
            rows = self._read(self._waiting[: min(num_final, self._commit_files)])
            self._insert(at, rows)
            for dump in rows.dumps:
                dump.call.final.add(dump.path)
            at.count(rows)
            notices += rows.notices
            del self._waiting[: len(rows.dumps)]
            num_final -= len(rows.dumps)
        self._num_provisional = 0
        if not num_final:
            notices += self._insert_young(_Position(**vars(at)))
        return notices

    def _num_waiting_final(self) -> int:
        return bisect.bisect_left(self._waiting, True, key=lambda dump: dump.is_young)

    def _insert_young(self, at: _Position) -> list[Notice]:
        # They are read again soon, and a file that is not complete is no news until then.
        while self._waiting:
            rows = self._read(self._waiting[: self._commit_files])
            self._insert(at, rows)
            at.count(rows)
            self._num_provisional += len(rows.dumps)
            del self._waiting[: len(rows.dumps)]
        return []

    def _read(self, dumps: Sequence[Dump]) -> _Rows:
        """Read dumps until there are as many bytes as a commit has."""
        batch, sizes, notices = DumpBatch(), [], []
        folders = {name: below(self._run.folder, name) for name in {dump.call.name for dump in dumps}}
        for dump in dumps:
            file = below(folders[dump.call.name], dump.path)
            if dump.name.debug_op == IDENTITY:
                sizes.append(batch.read(file))
                if batch.problem:
                    notices.append(Notice(f"{dump.call.name}/{dump.path}", None, batch.problem))
            else:
                sizes.append(_size(file))
            if batch.bytes >= self._commit_bytes:
                break
        taken = list(dumps[: len(sizes)])
        return _Rows(taken, sizes, batch.columns(self._describer.registry.shape), notices)

    def _insert(self, at: _Position, rows: _Rows) -> None:
        traces = self._trace_columns(at, rows)
        bad = decode.bad_columns(traces, at.bad)
        schema.append(self._connection, "graph_executions", traces)
        schema.append(self._connection, "bad_graph_executions", bad)
        rows.num_bad = len(bad["idx"])
        insert_lists(self._connection, "dump_files", kinds_of(DumpFileRow), rows.file_columns(at))

    def _trace_columns(self, at: _Position, rows: _Rows) -> dict[str, Array]:
        dumps = rows.identities
        none = np.full(len(dumps), -1, np.int64)
        times = np.array([dump.name.time / 1e6 for dump in dumps], np.float64)
        sites = np.array([self._site(dump) for dump in dumps], np.int32)
        steps = np.array([dump.call.number for dump in dumps], np.int32)
        return decode.trace_columns(trace_rows(times, none, none, sites, steps, rows.summaries), at.traces)

    def _site(self, dump: Dump) -> int:
        name = dump.name
        graph_id, renamed = self._call_rows.graph_of(dump.call, name.device)
        node = bounded_text(renamed.get(name.node, name.node))
        return self._describer.registry.site(_HOST, graph_id, node, name.slot, bounded_text(name.device))

    def close(self) -> None:
        """Do nothing; there is nothing to end."""


@dataclass
class _Rows:
    """The rows of some dumps; lives while a commit is made.

    Attributes:
      dumps: The dumps.
      sizes: The bytes of each file.
      summaries: Columns of the dumps of tensors, which are some of them.
      notices: What could not be read.
      num_bad: How many are bad, once they are inserted.
    """

    dumps: list[Dump]
    sizes: list[int]
    summaries: dict[str, Array]
    notices: list[Notice]
    num_bad: int = 0

    @cached_property
    def identities(self) -> list[Dump]:
        """The dumps of tensors; the others are results of other debug ops."""
        return [dump for dump in self.dumps if dump.name.debug_op == IDENTITY]

    def file_columns(self, at: _Position) -> Mapping[str, Sequence[object]]:
        """Return columns of ``dump_files``."""
        positions = itertools.count(at.traces)
        names = [dump.name for dump in self.dumps]
        return {
            "file": list(range(at.files, at.files + len(names))),
            "call": [dump.call.number for dump in self.dumps],
            "path": [dump.path for dump in self.dumps],
            "watch_key": [bounded_text(name.watch_key) for name in names],
            "device": [bounded_text(name.device) for name in names],
            "time": [name.time for name in names],
            "bytes": self.sizes,
            "idx": [next(positions) if name.debug_op == IDENTITY else None for name in names],
        }


def _size(file: Location) -> int:
    with contextlib.suppress(OSError):
        return int(file.stat().st_size)
    return 0


def _host(run: FoundRun) -> HostRow:
    # A dump folder does not say which version of TensorFlow wrote it, or on which machine.
    return HostRow(_HOST, "localhost", "", run.start_time, mode=int(TensorDebugMode.FULL_TENSOR))
