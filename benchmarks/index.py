"""Measures how fast event files are indexed, how much memory that takes, and how fast the routes answer.

    python -m benchmarks.index [--traces 100000 1000000 10000000] [--hosts 8]
    python -m benchmarks.index --clients 16 [--base COMMIT] [--traces 1000000]
    python -m benchmarks.index --tail [--clients 8] [--rate 50000] [--base COMMIT]

For each size, a process indexes generated files and queries the routes, and another one opens the run again.
TensorFlow's own reader, which the built-in plugin uses, reads the smallest file set in the same run. If
TensorFlow is installed, the example is recorded too, and the training of a residual network, whose records
are repeated up to the last size. With ``--clients``, it is measured instead how long the routes take when so
many people look at once (`benchmarks.clients`). With ``--tail``, it is measured after what time the page has
what a running program records (`benchmarks.tail`).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import against, clients, file_sets, tail

#: What one process measured, or all of them of some files.
Result = dict[str, Any]
SIZES = [100_000, 1_000_000, 10_000_000]
#: Of the long runs that many clients ask.
LONG = [1_000_000]
#: Clients that ask for what a running program records.
WATCHERS = 8
FOLDERS = 1000
HOSTS = 8
#: Largest number of traces for TensorFlow's own reader: it takes a kilobyte for each event, and minutes for a
#: million.
MOST_FOR_BUILTIN = 1_000_000


def measure(what: str, logdir: Path, cache: Path) -> Result:
    """Run one measurement of `benchmarks.viewer`.

    Returns:
      The printed JSON; an `error` instead if the process failed.
    """
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.viewer", what, str(logdir)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TB_DEBUGGER_CACHE": str(cache), "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    if done.returncode != 0:
        return {"error": (done.stderr.strip().splitlines() or ["?"])[-1]}
    result: Result = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def record(logdir: Path, needs: str, *command: str) -> bool:
    """Run a program that records, if TensorFlow and the module `needs` are installed; True on success."""
    if find_spec("tensorflow") is None or find_spec(needs) is None:
        return False
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([sys.executable, "-m", *command], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
    return done.returncode == 0


def run_recorded(folder: Path, count: int) -> dict[str, Result]:
    """Record programs and measure everything about their recordings; the results by name."""
    results = {}
    example = folder / "recorded"
    if record(
        example,
        "sklearn",
        "tb_debugger_plugin.examples.buggy_digits",
        "--logdir",
        str(example),
        "--steps",
        "400",
    ):
        results["the example, recorded"] = run_files(folder, example)
    network = folder / "network"
    if record(network, "keras", "benchmarks.residual", str(network)):
        repeated = folder / "repeated"
        file_sets.repeat(network, repeated, count)
        results[f"a residual network, {count:,} traces"] = run_files(folder, repeated)
    return results


def run_files(folder: Path, logdir: Path) -> Result:
    """Measure everything about some event files."""
    size = sum(path.stat().st_size for path in logdir.rglob("tfdbg_events.*"))
    indexed = measure("index", logdir, folder / "cache")
    return {"bytes": size, "index": indexed, "reopen": measure("reopen", logdir, folder / "cache")}


def run_size(folder: Path, count: int, hosts: int = 1) -> Result:
    """Generate the file sets of a job and measure everything about it."""
    logdir = folder / f"traces{count}-{hosts}"
    file_sets.write(logdir, count, hosts)
    return {**run_files(folder, logdir), "logdir": logdir, "count": count}


def _number(result: Result, name: str, form: str = ",.0f") -> str:
    return "failed" if "error" in result else format(result[name], form)


def print_sizes(console: Console, names: Sequence[str], results: Sequence[Result]) -> None:
    """Print the table of times and memory by size."""
    table = Table("measure", *names)
    rows = {
        "event files, MB": [f"{size['bytes'] / 1e6:,.0f}" for size in results],
        "events indexed a second": [_number(size["index"], "per_second") for size in results],
        "the same once it runs": [_number(size["index"], "steady_per_second") for size in results],
        "processor seconds": [_number(size["index"], "processor_seconds", ".1f") for size in results],
        "resident before, MB": [_number(size["index"], "before_mb") for size in results],
        "resident at most while indexing, MB": [_number(size["index"], "indexed_mb") for size in results],
        "and while serving, MB": [_number(size["index"], "peak_mb") for size in results],
        "all processes together, at most, MB": [_number(size["index"], "together_mb") for size in results],
        "status while indexing, slowest, ms": [
            _number(size["index"], "status_while_loading_ms") for size in results
        ],
        "opened again: first page, s": [_number(size["reopen"], "seconds", ".2f") for size in results],
        "… with executions and alerts, s": [
            _number(size["reopen"], "with_executions_and_alerts", ".2f") for size in results
        ],
    }
    for name, cells in rows.items():
        table.add_row(name, *cells)
    console.print(table)


def print_routes(console: Console, names: Sequence[str], results: Sequence[Result]) -> None:
    """Print the table of routes."""
    table = Table("route, p95 in ms, warm", *names)
    measured = [result["index"].get("routes", {}) for result in results]
    for path in dict.fromkeys(path for routes in measured for path in routes):
        table.add_row(path, *(f"{routes[path]:.1f}" if path in routes else "failed" for routes in measured))
    console.print(table)


def print_others(console: Console, folder: Path, smallest: Result) -> None:
    """Print the times of TensorFlow's own reader and of `is_active`."""
    table = Table("measure", "")
    if find_spec("tensorflow") is None or smallest["count"] > MOST_FOR_BUILTIN:
        table.add_row("TensorFlow's own reader", "not measured: no TensorFlow, or too many events")
    else:
        builtin = measure("builtin", smallest["logdir"], folder / "cache")
        per_second = _number(builtin, "per_second")
        table.add_row("TensorFlow's own reader, smallest size: events a second", per_second)
        table.add_row("TensorFlow's own reader: bytes an event", _number(builtin, "bytes_an_event"))
    many = folder / "many"
    for number in range(FOLDERS):
        (many / f"run{number}").mkdir(parents=True)
    active = measure("active", many, folder / "cache")
    table.add_row(f"is_active, {FOLDERS} folders without events, p95, ms", _number(active, "p95_ms", ".2f"))
    for number in range(FOLDERS):
        (many / f"run{number}" / "tfdbg_events.1.worker0.metadata").touch()
    active = measure("active", many, folder / "cache")
    table.add_row(f"is_active, {FOLDERS} folders with events, p95, ms", _number(active, "p95_ms", ".2f"))
    console.print(table)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--traces", type=int, nargs="+", default=[])
    parser.add_argument(
        "--hosts", type=int, default=HOSTS, help="number of hosts with which the last size is measured again"
    )
    parser.add_argument("--folder", help="folder for the files (default: the system's temporary folder)")
    parser.add_argument("--clients", type=int, help="measure questions of so many clients instead")
    parser.add_argument("--tail", action="store_true", help="measure a program that runs instead")
    parser.add_argument("--rate", type=int, default=50_000, help="with --tail: records a second")
    parser.add_argument("--base", help="with --clients or --tail: a commit to measure in turns with this one")
    parser.add_argument("--runs", type=int, default=20, help="with --clients: number of short runs")
    parser.add_argument("--pause", type=float, default=0.25, help="mean seconds between two questions")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long clients ask warm")
    parser.add_argument("--rounds", type=int, default=1, help="with --clients: how often it is measured")
    args = parser.parse_args(argv)
    traces = args.traces or (LONG if args.clients else SIZES)
    # Output into a file has a fixed width, so that no cell is cut at the width of a terminal.
    console = Console(width=None if sys.stdout.isatty() else 150)
    console.print(
        f"{date.today()}, {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    )
    with tempfile.TemporaryDirectory(dir=args.folder) as temporary:
        folder = Path(temporary)
        packages = {"this commit": against.ROOT}
        if args.base:
            packages = {args.base: against.build(args.base), **packages}
        if args.tail:
            asked = (args.clients or WATCHERS, args.pause, args.seconds)
            tail.measure(folder, packages, args.rounds, args.rate, *asked)
            return
        if args.clients:
            visits = clients.Visits(args.clients, args.pause, args.seconds)
            clients.measure_packages(folder, packages, (args.runs, traces[-1]), visits, args.rounds)
            return
        names = [f"{count:,} traces" for count in traces]
        results = [run_size(folder, count) for count in traces]
        if args.hosts > 1:
            names.append(f"{traces[-1]:,} traces, {args.hosts} hosts")
            results.append(run_size(folder, traces[-1], args.hosts))
        for name, result in run_recorded(folder, traces[-1]).items():
            names.append(name)
            results.append(result)
        print_sizes(console, names, results)
        print_routes(console, names, results)
        print_others(console, folder, results[0])
    for result in results:
        for part in ("index", "reopen"):
            if "error" in result[part]:
                console.print(f"{part} failed: {result[part]['error']}", style="red")


if __name__ == "__main__":
    main()
