"""Measures how long all alert rules take on a long run, and how much memory.

    python -m benchmarks.rules [--traces 10000000]

The run is that of `benchmarks.index` in FULL_NUMERICS: 3000 tensors, of which 600 each are gradients, trained
variables, inputs of tanh and outputs of ReLUs. It is indexed first. Then a process of its own asks each rule
once, and one rule again with five other thresholds, as a slider does.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.asked import arguments, ask, indexed
from benchmarks.viewer import _memory_mb

_SLIDER = (1.5, 2.0, 3.0, 5.0, 8.0)


def measure(logdir: Path) -> dict[str, Any]:
    """Ask all rules of the only run of a logdir."""
    from tb_debugger_plugin.analysis.alerts.alert_rules import RULES
    from tb_debugger_plugin.analysis.alerts.findings import verdict
    from tb_debugger_plugin.analysis.alerts.settings import DEFAULTS, make_settings
    from tb_debugger_plugin.analysis.snapshot import open_snapshot
    from tb_debugger_plugin.index.loader import RunLoader
    from tb_debugger_plugin.index.runs import find_runs

    with contextlib.closing(RunLoader(find_runs(logdir)[0])) as loader:
        while not loader.wait(1.0):
            pass
        before = _memory_mb("VmHWM")
        with open_snapshot(loader) as snapshot:
            rows: dict[str, tuple[float, int, str]] = {}
            for rule in RULES:
                begin = time.perf_counter()
                found = verdict(snapshot, DEFAULTS, rule)
                seconds = time.perf_counter() - begin
                rows[rule.id] = seconds, found.num_values, found.missing or ""
            moved = []
            for limit in _SLIDER:
                settings = make_settings([("LargeGradientAlert", "limit", limit)])
                begin = time.perf_counter()
                verdict(snapshot, settings, settings.rule("LargeGradientAlert"))
                moved.append(time.perf_counter() - begin)
    return {"rules": rows, "slider": max(moved), "before_mb": before, "peak_mb": _memory_mb("VmHWM")}


def main() -> None:
    args = arguments(__doc__).parse_args()
    if args.ask:
        print(json.dumps(measure(args.ask)))
        return
    with indexed(args) as logdir:
        result = ask("benchmarks.rules", logdir)
    _print(result)


def _print(result: dict[str, Any]) -> None:
    table = Table("rule", "s", "values that break it", "")
    for name, (seconds, values, missing) in result["rules"].items():
        table.add_row(name, f"{seconds:.2f}", f"{values:,}", missing)
    table.add_row("all", f"{sum(seconds for seconds, *_ in result['rules'].values()):.2f}", "", "")
    table.add_row("a slider moves, slowest of 5", f"{result['slider']:.2f}", "", "")
    console = Console(width=None if sys.stdout.isatty() else 150)
    console.print(table)
    console.print(f"memory: {result['before_mb']:.0f} MB before, {result['peak_mb']:.0f} MB at most")


if __name__ == "__main__":
    main()
