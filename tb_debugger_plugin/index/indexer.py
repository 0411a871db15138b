"""Indexes the files of one run into its database, commit by commit.

Takes a run and its open database. Each :meth:`Indexer.advance` reads what is new, up to a limit, and makes
one commit: rows, the offsets to resume at, and a generation number that is one higher. If the process is
killed between two commits, the next indexer continues after the last commit.

Invariants: positions of committed rows never change, except those of a circular buffer's ring, which are
taken back when the ring turns; rows of several hosts are merged by time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import duckdb

from tb_debugger_plugin.events.tail import Tail
from tb_debugger_plugin.index import schema
from tb_debugger_plugin.index.commit import Commit, load_commit
from tb_debugger_plugin.index.describe import Describer, load_describer, new_hosts
from tb_debugger_plugin.index.hosts import WORTH_BYTES
from tb_debugger_plugin.index.reader import Reader
from tb_debugger_plugin.index.runs import FoundRun, name_below
from tb_debugger_plugin.index.source import Batch, FileKey
from tb_debugger_plugin.index.writer import Writer

#: About how many bytes of traces one commit has: enough for two whole row groups of the table, which two
#: threads write side by side, and three times as fast as rows that have to pass through the database's log.
COMMIT_BYTES: Final = 52 << 20


@dataclass(frozen=True)
class LoadProgress:
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
      commit_bytes: About how many bytes of the longest kind of file one commit has, all hosts together.
      worth_bytes: Bytes that several hosts must have left to read before processes are started.
    """

    def __init__(
        self,
        run: FoundRun,
        connection: duckdb.DuckDBPyConnection,
        *,
        commit_bytes: int = COMMIT_BYTES,
        worth_bytes: int = WORTH_BYTES,
    ) -> None:
        self._run = run
        self._connection = connection
        self._commit_bytes = commit_bytes
        self._worth_bytes = worth_bytes
        if schema.read_meta(connection).get("file_sets", "").split("\n") != _labels(run):
            self._empty_tables()
        self._commit = load_commit(connection, run.file_sets)
        self._describer = self._load_describer()
        self._reader = self._make_reader()
        self._writer = self._make_writer()
        if self.was_replaced():
            self.reset()

    def _empty_tables(self) -> None:
        generation = int(schema.read_meta(self._connection).get("generation", "0"))
        with schema.transaction(self._connection):
            schema.empty_tables(
                self._connection,
                generation=generation + 1,
                dump_root=self._run.folder.resolve(),
                file_sets="\n".join(_labels(self._run)),
            )

    def _load_describer(self) -> Describer:
        hosts = new_hosts(self._run.file_sets)
        for host in self._commit.hosts:
            hosts[host.host] = host
        return load_describer(self._connection, hosts)

    def _make_reader(self) -> Reader:
        return Reader(
            self._run, self._describer, commit_bytes=self._commit_bytes, worth_bytes=self._worth_bytes
        )

    def _make_writer(self) -> Writer:
        file_sets, decode_ring = self._run.file_sets, self._reader.decode_ring
        return Writer(self._connection, file_sets, self._describer, decode_ring)

    @property
    def generation(self) -> int:
        """The number of the last commit."""
        return self._commit.generation

    @property
    def finished(self) -> bool:
        """Whether every host has recorded its end."""
        return all(host.finished for host in self._describer.hosts)

    def signature(self) -> tuple[tuple[int, ...], ...]:
        """Return a value that changes when there may be something new; costs a few stats per file."""
        return self._reader.signature()

    def was_replaced(self) -> bool:
        """Whether a file was replaced by another one, so that everything must be read again."""
        return not self._reader.are_same(self._commit.states)

    def reset(self) -> None:
        """Forget all rows, so that everything is read again."""
        self._reader.close()
        self._empty_tables()
        self._commit = load_commit(self._connection, self._run.file_sets)
        self._describer = self._load_describer()
        self._reader = self._make_reader()
        self._writer = self._make_writer()

    def advance(self) -> LoadProgress:
        """Read and commit what is new, up to the limit.

        Returns:
          The progress; call again at once while ``more``.

        Raises:
          duckdb.Error: The database cannot be written; this indexer cannot be used any more.
        """
        batches = self._reader.read(self._commit.states, self._commit.latest)
        rings = self._reader.read_rings()
        if self._commit.holds(batches, rings):
            return self._progress(False)
        with schema.transaction(self._connection):
            commit = self._write(batches, rings)
        self._commit = commit
        more = _are_unfinished(batches)
        if not more:
            self._reader.rest()
        return self._progress(more)

    def _write(self, batches: Mapping[FileKey, Batch], rings: Mapping[FileKey, Tail]) -> Commit:
        commit = self._commit.next(batches, rings)
        rows = self._writer.begin(commit, batches, rings)
        if _are_unfinished(batches):
            # From here on, the describer and the registry belong to the thread that reads.
            self._reader.read_ahead(commit.states, commit.latest)
        self._writer.finish(commit, batches, rows)
        return commit

    def _progress(self, more: bool) -> LoadProgress:
        states = self._commit.states.values()
        done = sum(state.resume for state in states)
        total = sum(max(state.size, state.resume) for state in states)
        return LoadProgress(self.generation, done, total, more)

    def close(self) -> None:
        """Stop reading ahead."""
        self._reader.close()


def _labels(run: FoundRun) -> list[str]:
    """Return the labels that distinguish the file sets of the run: hosts may have a folder each."""
    return [name_below(files.path(""), run.folder) for files in run.file_sets]


def _are_unfinished(batches: Mapping[FileKey, Batch]) -> bool:
    return any(batch.more for batch in batches.values())
