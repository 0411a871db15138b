"""Writes commits: appends the rows of what was read to the tables of a run.

Takes batches and rings inside the caller's transaction, and a commit that is counted up as rows are appended.
First come the rows that need numbers of the registry, and what the describer holds; then the others, while
the next batches may already be read.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES, SESSION_RUNS, TAILED, FileSet
from tb_debugger_plugin.events.tail import Tail
from tb_debugger_plugin.index import decode, schema
from tb_debugger_plugin.index.bookkeeping import load_notices, replace_hosts
from tb_debugger_plugin.index.commit import Commit, save_commit
from tb_debugger_plugin.index.describe import Describer
from tb_debugger_plugin.index.merge import merge
from tb_debugger_plugin.index.records import Rows
from tb_debugger_plugin.index.rows import HostRow
from tb_debugger_plugin.index.source import NO_RING_BYTES, Batch, FileKey, RingBytes, ring_bytes, ring_events


@dataclass(frozen=True)
class MergedRows:
    """Rows of a list of all hosts in one order: those of the files, and those of the rings."""

    stable: Rows | None
    provisional: Rows | None


class Writer:
    """Writes the commits of one run; lives as long as the describer.

    Args:
      connection: A connection to the run's database.
      file_sets: The file sets of the hosts, by number of the host.
      describer: Holds what the short files say; its registry numbers what rows name.
      decode_ring: Returns the rows of the ring of one file.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        file_sets: Sequence[FileSet],
        describer: Describer,
        decode_ring: Callable[[FileKey, RingBytes], Rows | None],
    ) -> None:
        self._connection = connection
        self._file_sets = file_sets
        self._describer = describer
        self._decode_ring = decode_ring
        self._notices = load_notices(connection)
        self._saved_hosts: Sequence[HostRow] | None = None
        # Whether the last commit left provisional rows; not known of the one before this writer.
        self._may_have_provisional = True

    def begin(
        self, commit: Commit, batches: Mapping[FileKey, Batch], rings: Mapping[FileKey, Tail]
    ) -> dict[str, MergedRows]:
        """Take back the provisional rows; write what the describer and the registry hold.

        Args:
          commit: The commit, before any of its rows are written.
          batches: The batch of each file.
          rings: The rings of circular buffers.

        Returns:
          The rows of each long list by suffix, which :meth:`finish` writes.
        """
        # A ring is drained into its file now and then; records that were read from the file are skipped.
        turning = {key: ring_bytes(ring, batches[key].state.resume) for key, ring in rings.items()}
        if self._may_have_provisional:
            self._take_back(commit)
        self._may_have_provisional = bool(rings)
        rows = {suffix: self._merged(suffix, commit, batches, turning) for suffix in TAILED}
        self._add_rings_of_sessions(turning)
        self._save_described(commit)
        return rows

    def finish(
        self, commit: Commit, batches: Mapping[FileKey, Batch], rows: Mapping[str, MergedRows]
    ) -> None:
        """Write the rest; uses neither the describer nor the registry.

        Args:
          commit: The commit that was begun.
          batches: The batch of each file.
          rows: The rows from :meth:`begin`.
        """
        for suffix, merged in rows.items():
            num_bad = commit.stable_bad
            if merged.stable is not None:
                num_bad = self._insert(commit, suffix, merged.stable)
                commit.stable[suffix] += len(merged.stable)
                commit.stable_bad = num_bad
            num_rows = commit.stable[suffix]
            if merged.provisional is not None:
                num_bad = self._insert(commit, suffix, merged.provisional)
                num_rows += len(merged.provisional)
            commit.num_rows[decode.TABLES[suffix][0]] = num_rows
        commit.num_rows["bad_graph_executions"] = num_bad
        notices = itertools.chain.from_iterable(batch.notices for batch in batches.values())
        if self._notices.save(self._connection, notices):
            commit.changed.add("notices")
        if commit.hosts != self._saved_hosts:
            replace_hosts(self._connection, commit.hosts)
            self._saved_hosts = commit.hosts
            commit.changed.add("hosts")
        save_commit(self._connection, commit, self._file_sets)

    def _take_back(self, commit: Commit) -> None:
        firsts = dict.fromkeys(schema.PROVISIONAL, commit.stable[EXECUTION])
        firsts["graph_executions"] = commit.stable[GRAPH_EXECUTION_TRACES]
        for table, first in firsts.items():
            self._connection.execute(f"DELETE FROM {table} WHERE idx >= {first}")
        self._connection.execute(f"DELETE FROM bad_graph_executions WHERE bad >= {commit.stable_bad}")
        commit.changed |= {*firsts, "bad_graph_executions", *self._describer.take_back(self._connection)}

    def _merged(
        self,
        suffix: str,
        commit: Commit,
        batches: Mapping[FileKey, Batch],
        turning: Mapping[FileKey, RingBytes],
    ) -> MergedRows:
        keys = [FileKey(host, suffix) for host in range(len(self._file_sets))]
        latest = commit.latest[suffix]
        stable = merge({key.host: batches[key].rows for key in keys}, latest)
        ring = {key.host: self._decode_ring(key, turning.get(key, NO_RING_BYTES)) for key in keys}
        return MergedRows(stable, merge(ring, dict(latest)))

    def _insert(self, commit: Commit, suffix: str, rows: Rows) -> int:
        """Append rows after the stable ones; return how many bad ones there are then."""
        tables = decode.list_columns(suffix, rows, commit.stable[suffix], commit.stable_bad)
        for table, columns in tables.items():
            if schema.append(self._connection, table, columns):
                commit.changed.add(table)
        bad = tables.get("bad_graph_executions")
        return commit.stable_bad + (len(bad["bad"]) if bad else 0)

    def _add_rings_of_sessions(self, turning: Mapping[FileKey, RingBytes]) -> None:
        for key, ring in turning.items():
            if key.suffix == SESSION_RUNS:
                self._describer.add_ring(key.host, ring_events(ring))

    def _save_described(self, commit: Commit) -> None:
        numbered = self._describer.registry.save(self._connection)
        commit.num_rows["sites"] = len(self._describer.registry.sites.rows)
        commit.changed |= numbered | self._describer.save(self._connection)
        # Sites are appended, and readers count them.
        if numbered - {"sites"} or _names(commit.hosts) != _names(self._describer.hosts):
            commit.catalog_generation = commit.generation
        commit.hosts = tuple(self._describer.hosts)


def _names(hosts: Iterable[HostRow]) -> list[tuple[str, int]]:
    return [(host.name, host.process_id) for host in hosts]
