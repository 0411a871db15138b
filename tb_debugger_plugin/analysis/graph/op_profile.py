"""The times of ops in runs of sessions that the program profiled, with the lines that made the ops.

Takes a run of a session. Returns a row for each op that TensorFlow timed. The optimizer of TensorFlow makes
and renames ops; those have no type and no line here.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.snapshot import Snapshot, remembered
from tb_debugger_plugin.analysis.source.user_lines import UserLine, user_lines

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


@remembered(Snapshot.remember_of_graphs)
def _ops_of(snapshot: Snapshot, host: int) -> dict[str, Op]:
    """Return the ops of a host by name; the graphs of sessions come before those of functions."""
    graphs = snapshot.catalog.graphs
    own = [op for op in snapshot.catalog.ops if graphs[op.graph].host == host]
    # The last one wins.
    own.sort(key=lambda op: graphs[op.graph].name is None)
    return {op.name: op for op in own}
