"""Explains a bad value of a program that still records.

Takes the folder and the op, and returns what `Run.why` says of the op's last alert.
"""

from __future__ import annotations

from pathlib import Path

from tb_debugger_plugin.index.cache import database_path, remove_database
from tb_debugger_plugin.index.runs import find_runs
from tb_debugger_plugin.reading.analysis_of_run import Explanation
from tb_debugger_plugin.reading.run import Run

#: Seconds that a program waits for the explanation of a bad value.
_TIMEOUT = 20.0


def explain(
    dump_root: str, *, graph_id: str, op_name: str, op_type: str, is_temporary: bool = False
) -> Explanation | None:
    """Explain the last alert of an op; the first cause of the run if the op has none.

    Args:
      dump_root: The folder of the recording, flushed.
      graph_id: The graph of the op; empty for an eager op.
      op_name: Its name in the graph.
      op_type: Its type.
      is_temporary: Whether nobody else reads the recording, so that its tables are not kept.

    Returns:
      None when there is no alert.
    """
    runs = [run for run in find_runs(Path(dump_root)) if Path(str(run.folder)) == Path(dump_root)]
    if not runs:
        return None
    found = max(runs, key=lambda run: run.start_time)
    try:
        with Run(found, timeout=_TIMEOUT) as run:
            wanted = (graph_id or None, op_name or None, op_type)
            positions = [
                alert.index
                for alert in run.alerts()
                if wanted == (alert.facts["graph_id"], alert.op_name, alert.op_type)
            ]
            return run.why(positions[-1] if positions else None)
    finally:
        if is_temporary:
            remove_database(database_path(found))
