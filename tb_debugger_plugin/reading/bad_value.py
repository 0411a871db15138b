"""Explains bad values to the program that records them.

Takes the folder, and returns what `Run.why` says of the last alert of an op, or the verdict on the whole
recording when it has ended.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tb_debugger_plugin.analysis.verdict import verdict_of_values
from tb_debugger_plugin.index.cache import database_path, remove_database
from tb_debugger_plugin.index.runs import find_runs
from tb_debugger_plugin.reading.alerts import Explanation
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


def main(dump_root: str, files: str) -> None:
    """Print the verdict on the values of a recording that has ended, as JSON. No alert rule is asked.

    Args:
      dump_root: Its folder.
      files: The beginning of the names of its files.

    Raises:
      StopIteration: There is no such recording.
    """
    own = (run for run in find_runs(Path(dump_root)) if files in {one.prefix for one in run.file_sets})
    with Run(next(own), timeout=_TIMEOUT) as run:
        with run.snapshot() as snapshot:
            print(json.dumps(verdict_of_values(snapshot).to_json()))


if __name__ == "__main__":
    main(*sys.argv[1:])
