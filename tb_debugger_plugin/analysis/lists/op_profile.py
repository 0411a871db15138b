"""The times of ops in runs of sessions that the program profiled, with the lines that made the ops.

Takes a run of a session, or all of them. Returns a row for each op that TensorFlow timed. The optimizer of
TensorFlow makes and renames ops; those have no type and no line here.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.snapshot import Snapshot, remembered
from tb_debugger_plugin.analysis.source.user_lines import UserLine, user_lines
from tb_debugger_plugin.events.numbers import Array, Floats, Integers
from tb_debugger_plugin.index.tensors import BAD

#: The ends of a graph, which TensorFlow times too.
_ENDS: Final = ("_SOURCE", "_SINK")


class ProfiledRun(NamedTuple):
    """A run of a session that was profiled."""

    host: int
    session: int
    run: int


class OpTime(NamedTuple):
    """What an op took, in microseconds.

    Attributes:
      device: The device.
      node: The name of the op.
      op_type: Its type; empty if the op is not in the program's graph.
      start: When TensorFlow began with it, from the first op of the run on.
      op_time: The time of the computation.
      exec_time: The time of everything that TensorFlow did for it.
      line: The line of the program that made it; None if it is not known.
    """

    device: str
    node: str
    op_type: str
    start: int
    op_time: int
    exec_time: int
    line: UserLine | None


def profiled_runs(snapshot: Snapshot) -> list[ProfiledRun]:
    """Return the runs that were profiled, in order."""
    rows = snapshot.rows("SELECT DISTINCT host, session, run FROM op_times ORDER BY host, session, run")
    return [ProfiledRun(*row) for row in rows]


def op_times(snapshot: Snapshot, run: ProfiledRun) -> list[OpTime]:
    """Return the times of the ops of a run, in the order in which they began."""
    rows = snapshot.rows(
        "SELECT device, op_name, start, op_time, all_time FROM op_times"
        " WHERE host = ? AND session = ? AND run = ? ORDER BY device, start, op_name",
        list(run),
    )
    rows = [row for row in rows if row[1] not in _ENDS]
    begin = min((start for _, _, start, _, _ in rows), default=0)
    ops = _ops_of(snapshot, run.host)
    lines = user_lines(snapshot, [ops[name].stack for _, name, *_ in rows if name in ops])
    found = []
    for device, name, start, op_time, all_time in rows:
        op = ops.get(name)
        kind, line = ("", None) if op is None else (op.type or "", lines.get(op.stack))
        found.append(OpTime(device, name, kind, start - begin, op_time, all_time, line))
    return found


class TimedOps(NamedTuple):
    """The ops that TensorFlow timed, by host and device, in the order in which they began.

    Attributes:
      hosts, devices, names: Of each, the number of its host, its device and its name.
      ops: Its number in the catalog; -1 if the program's graphs have none of this name.
      times: When its computation began and ended.
      positions: What it computed in the list of graph executions; -1 if that is not on record.
      is_bad: Whether that is bad.
    """

    hosts: Integers
    devices: Array
    names: Array
    ops: Integers
    times: Floats
    positions: Integers
    is_bad: Array

    def position_of(self, row: int) -> int | None:
        """Return the graph execution of a row; None if it is not on record."""
        position = int(self.positions[row])
        return position if position >= 0 else None


@remembered(Snapshot.remember)
def timed_ops(snapshot: Snapshot) -> TimedOps:
    """Return what TensorFlow timed in all runs of sessions."""
    rows = snapshot.columns(
        "SELECT host, session, run, device, op_name, start::DOUBLE + op_start AS begin, op_time"
        " FROM op_times WHERE op_name NOT IN (SELECT unnest(?)) ORDER BY host, device, begin, op_name",
        [list(_ENDS)],
    )
    ops = {host: _ops_of(snapshot, host) for host in set(rows["host"].tolist())}
    numbers = [
        ops[host][name].number if name in ops[host] else -1
        for host, name in zip(rows["host"].tolist(), rows["op_name"].tolist(), strict=True)
    ]
    computed = _computed_in_runs(snapshot) if numbers else {}
    keys = zip(*(rows[name].tolist() for name in ("host", "session", "run")), numbers, strict=True)
    found = [computed.get(key, (-1, False)) for key in keys]
    begins = rows["begin"] / 1e6
    return TimedOps(
        rows["host"].astype(np.int64),
        rows["device"],
        rows["op_name"],
        np.array(numbers, np.int64),
        np.stack([begins, begins + rows["op_time"] / 1e6], axis=1),
        np.array([position for position, _ in found], np.int64),
        np.array([is_bad for _, is_bad in found], bool),
    )


def _computed_in_runs(snapshot: Snapshot) -> dict[tuple[int, int, int, int], tuple[int, bool]]:
    """Return the first graph execution of each op in each timed run of a session, and whether any is bad.

    Of runs at the same time in several threads, a tensor may be one of each.
    """
    rows = snapshot.rows(
        "SELECT r.host, r.session, r.run, g.site, min(g.idx), max(g.health) FROM graph_executions g"
        " JOIN (SELECT * FROM session_runs SEMI JOIN op_times USING (host, session, run)) r"
        " ON g.wall_time BETWEEN r.begin_time AND r.end_time GROUP BY ALL"
    )
    found: dict[tuple[int, int, int, int], tuple[int, bool]] = {}
    for host, session, run, site, position, health in rows:
        if snapshot.catalog.site_hosts[site] == host:
            key = host, session, run, snapshot.catalog.sites[site].op
            first, is_bad = found.get(key, (position, False))
            found[key] = min(first, position), is_bad or health == BAD
    return found


@remembered(Snapshot.remember_of_graphs)
def _ops_of(snapshot: Snapshot, host: int) -> dict[str, Op]:
    """Return the ops of a host by name; the graphs of sessions come before those of functions."""
    graphs = snapshot.catalog.graphs
    own = [op for op in snapshot.catalog.ops if graphs[op.graph].host == host]
    # The last one wins.
    own.sort(key=lambda op: graphs[op.graph].name is None)
    return {op.name: op for op in own}
