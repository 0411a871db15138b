"""Writes commits: appends the rows of what was read to the tables of a run.

Takes batches and rings inside the caller's transaction, and a commit that is counted up as rows are appended.
First come the rows that need numbers of the registry, and what the describer holds; then the others, while
the next batches may already be read.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import duckdb

from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES, SESSION_RUNS, FileSet
from tb_debugger_plugin.events.messages import Message
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.events.tail import Tail
from tb_debugger_plugin.index import decode, schema
from tb_debugger_plugin.index.bookkeeping import load_notices, replace_hosts
from tb_debugger_plugin.index.commit import Commit, save_commit
from tb_debugger_plugin.index.describe import Describer
from tb_debugger_plugin.index.merge import merge_executions, merge_traces
from tb_debugger_plugin.index.rows import HostRow
from tb_debugger_plugin.index.source import NO_RING_BYTES, Batch, FileKey, RingBytes, ring_bytes, ring_events
from tb_debugger_plugin.index.traces import TraceRows

_KIND: Final = "execution"


@dataclass(frozen=True)
class MergedTraces:
    """Traces of all hosts in one order: those of the files, and those of the rings."""

    stable: TraceRows | None
    provisional: TraceRows | None


class Writer:
    """Writes the commits of one run; lives as long as the describer.

    Args:
      connection: A connection to the run's database.
      file_sets: The file sets of the hosts, by number of the host.
      describer: Holds what the short files say; its registry numbers what executions name.
      decode_ring: Returns the traces among the records of a host's ring.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        file_sets: Sequence[FileSet],
        describer: Describer,
        decode_ring: Callable[[int, RingBytes], TraceRows | None],
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
    ) -> MergedTraces:
        """Take back the provisional rows; write executions, and what the describer and the registry hold.

        Args:
          commit: The commit, before any of its rows are written.
          batches: The batch of each file.
          rings: The rings of circular buffers.

        Returns:
          The traces, which :meth:`finish` writes.
        """
        # A ring is drained into its file now and then; records that were read from the file are skipped.
        turning = {key: ring_bytes(ring, batches[key].state.resume) for key, ring in rings.items()}
        if self._may_have_provisional:
            self._take_back(commit)
        self._may_have_provisional = bool(rings)
        self._append_executions(commit, batches, turning)
        traces = self._merge_traces(commit, batches, turning)
        self._add_rings_of_sessions(turning)
        self._save_described(commit)
        return traces

    def finish(self, commit: Commit, batches: Mapping[FileKey, Batch], traces: MergedTraces) -> None:
        """Write the rest; uses neither the describer nor the registry.

        Args:
          commit: The commit that was begun.
          batches: The batch of each file.
          traces: The traces from :meth:`begin`.
        """
        if traces.stable is not None:
            commit.stable_bad += self._insert_traces(commit, traces.stable)
            commit.stable[GRAPH_EXECUTION_TRACES] += len(traces.stable)
        num_traces, num_bad = commit.stable[GRAPH_EXECUTION_TRACES], commit.stable_bad
        if traces.provisional is not None:
            num_bad += self._insert_traces(commit, traces.provisional)
            num_traces += len(traces.provisional)
        commit.num_rows.update(graph_executions=num_traces, bad_graph_executions=num_bad)
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

    def _append_executions(
        self, commit: Commit, batches: Mapping[FileKey, Batch], turning: Mapping[FileKey, RingBytes]
    ) -> None:
        keys = [FileKey(host, EXECUTION) for host in range(len(self._file_sets))]
        latest = commit.latest[EXECUTION]
        rows = merge_executions(
            {key.host: _executions(key.host, batches[key].positioned_events()) for key in keys}, latest
        )
        self._insert_executions(commit, rows)
        commit.stable[EXECUTION] += len(rows)
        ring = {key.host: _executions(key.host, ring_events(turning.get(key, NO_RING_BYTES))) for key in keys}
        provisional = merge_executions(ring, dict(latest))
        self._insert_executions(commit, provisional)
        commit.num_rows["executions"] = commit.stable[EXECUTION] + len(provisional)

    def _insert_executions(self, commit: Commit, rows: Sequence[decode.Row]) -> None:
        if not rows:
            return
        columns = decode.execution_columns(rows, self._describer.registry, commit.stable[EXECUTION])
        self._insert(commit, "executions", columns.executions)
        self._insert(commit, "execution_inputs", columns.inputs)
        self._insert(commit, "execution_outputs", columns.outputs)

    def _merge_traces(
        self, commit: Commit, batches: Mapping[FileKey, Batch], turning: Mapping[FileKey, RingBytes]
    ) -> MergedTraces:
        keys = [FileKey(host, GRAPH_EXECUTION_TRACES) for host in range(len(self._file_sets))]
        latest = commit.latest[GRAPH_EXECUTION_TRACES]
        stable = merge_traces({key.host: batches[key].traces for key in keys}, latest)
        ring = {key.host: self._decode_ring(key.host, turning.get(key, NO_RING_BYTES)) for key in keys}
        return MergedTraces(stable, merge_traces(ring, dict(latest)))

    def _insert_traces(self, commit: Commit, rows: TraceRows) -> int:
        """Append traces after the stable ones; return how many are bad."""
        traces = decode.trace_columns(rows, commit.stable[GRAPH_EXECUTION_TRACES])
        bad = decode.bad_columns(traces, commit.stable_bad)
        self._insert(commit, "graph_executions", traces)
        self._insert(commit, "bad_graph_executions", bad)
        return len(bad["idx"])

    def _insert(self, commit: Commit, table: str, columns: dict[str, Array]) -> None:
        if schema.append(self._connection, table, columns):
            commit.changed.add(table)

    def _add_rings_of_sessions(self, turning: Mapping[FileKey, RingBytes]) -> None:
        for key, ring in turning.items():
            if key.suffix == SESSION_RUNS:
                self._describer.add_ring(key.host, (event for _, event in ring_events(ring)))

    def _save_described(self, commit: Commit) -> None:
        numbered = self._describer.registry.save(self._connection)
        commit.num_rows["sites"] = len(self._describer.registry.sites.rows)
        commit.changed |= numbered | self._describer.save(self._connection)
        # Sites are appended, and readers count them.
        if numbered - {"sites"} or _names(commit.hosts) != _names(self._describer.hosts):
            commit.catalog_generation = commit.generation
        commit.hosts = tuple(self._describer.hosts)


def _executions(host: int, events: Iterable[tuple[int, Message]]) -> list[decode.Row]:
    return [decode.Row(host, event, position) for position, event in events if event.HasField(_KIND)]


def _names(hosts: Iterable[HostRow]) -> list[tuple[str, int]]:
    return [(host.name, host.process_id) for host in hosts]
