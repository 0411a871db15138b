"""When a run began: the moment from which the shell counts milliseconds."""

from __future__ import annotations

from tb_debugger_plugin.reading.run import Run


def first_moment(run: Run) -> float:
    """Return when the first tensor of a graph was computed; without any, when the recording began.

    Args:
      run: The run.

    Returns:
      Seconds since the epoch.
    """
    with run.snapshot() as snapshot:
        rows = snapshot.rows("SELECT wall_time FROM graph_executions WHERE idx = 0")
    return float(rows[0][0]) if rows else run.start_time
