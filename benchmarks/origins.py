"""Measures how long the origins of a long run take, and the status, which must not wait for them.

    python -m benchmarks.origins [--traces 10000000]

The run is that of `benchmarks.rules`, in which half of all tensors are bad after 30 % of the program: with
ten million values, 3.5 million are bad. It is indexed first. Then each of some processes opens it, and asks
for the status, the origins, the first cause and the alerts by cause once.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.asked import arguments, ask, indexed, seconds
from benchmarks.viewer import _memory_mb

_BAD_FROM = 0.3


def measure(logdir: Path) -> dict[str, float]:
    """Ask the only run of a logdir; returns seconds by question, and memory."""
    from tb_debugger_plugin.analysis.alerts.alerts import alert_list
    from tb_debugger_plugin.analysis.alerts.groups import alert_groups
    from tb_debugger_plugin.analysis.alerts.settings import DEFAULTS
    from tb_debugger_plugin.analysis.origins.origins import origins
    from tb_debugger_plugin.analysis.snapshot import open_snapshot
    from tb_debugger_plugin.analysis.status import status
    from tb_debugger_plugin.index.loader import RunLoader
    from tb_debugger_plugin.index.runs import find_runs

    with contextlib.closing(RunLoader(find_runs(logdir)[0])) as loader:
        while not loader.wait(1.0):
            pass
        with open_snapshot(loader) as snapshot:
            found = {
                "status": seconds(lambda: status(snapshot)),
                "origins": seconds(lambda: origins(snapshot)),
                "first cause": seconds(lambda: alert_list(snapshot).first_cause(snapshot)),
                "alerts by cause": seconds(lambda: alert_groups(snapshot, DEFAULTS, "cause")),
                "bad": float(snapshot.num_bad_graph_executions),
            }
    return {**found, "peak_mb": _memory_mb("VmHWM")}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--times", type=int, default=3, help="number of processes that ask")
    args = parser.parse_args()
    if args.ask:
        print(json.dumps(measure(args.ask)))
        return
    with indexed(args, bad_from=_BAD_FROM) as logdir:
        runs = [ask("benchmarks.origins", logdir) for _ in range(args.times)]
    _print(runs)


def _print(runs: list[dict[str, float]]) -> None:
    table = Table("question", "median, s", "slowest, s")
    for name in ("status", "origins", "first cause", "alerts by cause"):
        taken = [run[name] for run in runs]
        table.add_row(name, f"{statistics.median(taken):.2f}", f"{max(taken):.2f}")
    console = Console(width=None if sys.stdout.isatty() else 110)
    console.print(table)
    console.print(
        f"bad values: {runs[0]['bad']:,.0f}; memory at most {max(run['peak_mb'] for run in runs):.0f} MB"
    )


if __name__ == "__main__":
    main()
