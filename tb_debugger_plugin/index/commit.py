"""A commit of a run's tables: where reading goes on, and which rows stay.

Takes the tables and returns what their last commit holds; takes a commit and writes the tables ``files`` and
``meta``, which hold it, with ``hosts``.

Invariant: the rows of a list below its stable count never change; those after it are the rows of a circular
buffer's ring, which the next commit takes back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import duckdb

from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES, SUFFIXES, TAILED, FileSet
from tb_debugger_plugin.events.tail import Tail
from tb_debugger_plugin.index import schema
from tb_debugger_plugin.index.bookkeeping import (
    file_row,
    load_files,
    load_hosts,
    replace_files,
)
from tb_debugger_plugin.index.merge import Latest
from tb_debugger_plugin.index.rows import HostRow
from tb_debugger_plugin.index.source import Batch, FileKey, FileState, ReadState


class RingSpan(NamedTuple):
    """The counters of a ring, which show any change: bytes ever dropped, and bytes ever written."""

    tail: int
    head: int


@dataclass
class Commit:
    """A commit; it is counted up while its rows are written, and does not change afterwards.

    Attributes:
      generation: The number of the commit.
      catalog_generation: The last generation at which graphs, ops, stacks or names of hosts changed; None
        before the first commit.
      hosts: The rows of ``hosts``; none before the first commit.
      states: The state of each file.
      dropped: How many records the ring of each file has overwritten.
      rings: The rings that the provisional rows came from; None when they are not known.
      stable: By suffix, how many rows of its list stay.
      stable_bad: How many rows of ``bad_graph_executions`` stay.
      latest: By suffix, the latest time of the stable rows of each host, which orders the rows of several.
      num_rows: The number of rows of each table of :data:`schema.LISTS`, provisional ones included.
      changed: The tables of :data:`schema.MARKED` whose rows it changes; all for the first commit.
    """

    generation: int
    catalog_generation: int | None
    hosts: Sequence[HostRow]
    states: Mapping[FileKey, FileState]
    dropped: Mapping[FileKey, int]
    rings: Mapping[FileKey, RingSpan] | None
    stable: dict[str, int]
    stable_bad: int
    latest: Mapping[str, Latest]
    num_rows: dict[str, int] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)

    def next(self, batches: Mapping[FileKey, Batch], rings: Mapping[FileKey, Tail]) -> Commit:
        """Return the commit of what was read after this one, before any of its rows are written.

        Args:
          batches: The batch of each file.
          rings: The rings of circular buffers.
        """
        return replace(
            self,
            generation=self.generation + 1,
            states={key: batches[key].state for key in self.states},
            dropped={**self.dropped, **{key: ring.dropped for key, ring in rings.items()}},
            rings=_spans(rings),
            stable=dict(self.stable),
            latest={suffix: dict(times) for suffix, times in self.latest.items()},
            num_rows={},
            changed=set(schema.MARKED) if self.catalog_generation is None else set(),
        )

    def holds(self, batches: Mapping[FileKey, Batch], rings: Mapping[FileKey, Tail]) -> bool:
        """Whether there is nothing new in what was read."""
        return (
            self.catalog_generation is not None
            and _spans(rings) == self.rings
            and not any(
                batch.events or batch.rows or batch.state != self.states[key]
                for key, batch in batches.items()
            )
        )


def _spans(rings: Mapping[FileKey, Tail]) -> dict[FileKey, RingSpan]:
    return {key: RingSpan(ring.tail, ring.head) for key, ring in rings.items()}


def load_commit(connection: duckdb.DuckDBPyConnection, file_sets: Sequence[FileSet]) -> Commit:
    """Load the last commit.

    Args:
      connection: A connection to the run's database.
      file_sets: The file sets of the hosts, by number of the host.
    """
    states = {FileKey(host, suffix): FileState() for host in range(len(file_sets)) for suffix in SUFFIXES}
    dropped = dict.fromkeys(states, 0)
    for row in load_files(connection):
        key = FileKey(row.host, row.suffix)
        states[key] = FileState(row.resume, row.size, ReadState(row.state), row.fingerprint)
        dropped[key] = row.dropped
    meta = schema.read_meta(connection)
    stable = {suffix: int(meta.get(f"stable_{suffix}", "0")) for suffix in TAILED}
    catalog_generation = meta.get("catalog_generation")
    return Commit(
        generation=int(meta.get("generation", "0")),
        catalog_generation=None if catalog_generation is None else int(catalog_generation),
        hosts=load_hosts(connection),
        states=states,
        dropped=dropped,
        rings={} if _counts(connection) == stable else None,
        stable=stable,
        stable_bad=int(meta.get("stable_bad", "0")),
        latest=_latest(connection, stable) if len(file_sets) > 1 else {suffix: {} for suffix in TAILED},
    )


def _counts(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    return {
        EXECUTION: _count(connection, "executions"),
        GRAPH_EXECUTION_TRACES: _count(connection, "graph_executions"),
    }


def _count(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])


def _latest(connection: duckdb.DuckDBPyConnection, stable: Mapping[str, int]) -> dict[str, Latest]:
    tables = {EXECUTION: "executions", GRAPH_EXECUTION_TRACES: "graph_executions JOIN sites USING (site)"}
    query = "SELECT host, max(wall_time) FROM {} WHERE idx < {} GROUP BY host"
    return {
        suffix: dict(connection.execute(query.format(table, stable[suffix])).fetchall())
        for suffix, table in tables.items()
    }


def save_commit(connection: duckdb.DuckDBPyConnection, commit: Commit, file_sets: Sequence[FileSet]) -> None:
    """Write what the commit holds beside the rows and ``hosts``, inside the caller's transaction.

    Args:
      connection: A connection to the run's database.
      commit: The commit.
      file_sets: The file sets of the hosts, by number of the host.
    """
    files = []
    for key, state in commit.states.items():
        name = file_sets[key.host].path(key.suffix).name
        files.append(file_row(key.host, key.suffix, name, state, commit.dropped[key]))
    replace_files(connection, files)
    schema.write_meta(
        connection,
        generation=commit.generation,
        catalog_generation=commit.catalog_generation,
        stable_bad=commit.stable_bad,
        **{f"stable_{suffix}": count for suffix, count in commit.stable.items()},
        **{f"{schema.NUM_ROWS}{table}": number for table, number in commit.num_rows.items()},
        **{f"{schema.CHANGED}{table}": commit.generation for table in sorted(commit.changed)},
    )
