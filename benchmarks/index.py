"""How fast event files become tables, how much memory that takes, and how fast the routes answer.

    python -m benchmarks.index [--traces 100000 1000000 10000000] [--hosts 8]

Each size is generated, indexed, opened again and asked in processes of their own. TensorFlow's own reader,
which the built-in plugin uses, gets the smallest file set in the same run. Where there is TensorFlow, the
example is recorded too, and so is the training of a residual network, whose records are repeated to the last
size.
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

from benchmarks import file_sets

FOLDERS = 1000
HOSTS = 8
#: TensorFlow's own reader takes a kilobyte for each event, and minutes for a million.
MOST_FOR_BUILTIN = 1_000_000


def measure(what: str, logdir: Path, cache: Path) -> dict[str, Any]:
    """One measurement of `benchmarks.viewer`.

    Returns:
      What it prints; an `error` instead when the process failed.
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
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def record(logdir: Path, needs: str, *command: str) -> bool:
    """Run a program that records, if TensorFlow and what else it needs are there."""
    if find_spec("tensorflow") is None or find_spec(needs) is None:
        return False
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([sys.executable, "-m", *command], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
    return done.returncode == 0


def run_recorded(folder: Path, count: int) -> dict[str, dict[str, Any]]:
    """Record programs and measure everything about their recordings, by what they are called."""
    found = {}
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
        found["the example, recorded"] = run_files(folder, example)
    network = folder / "network"
    if record(network, "keras", "benchmarks.residual", str(network)):
        repeated = folder / "repeated"
        file_sets.repeat(network, repeated, count)
        found[f"a residual network, {count:,} traces"] = run_files(folder, repeated)
    return found


def run_files(folder: Path, logdir: Path) -> dict[str, Any]:
    """Measure everything about some event files."""
    size = sum(path.stat().st_size for path in logdir.rglob("tfdbg_events.*"))
    indexed = measure("index", logdir, folder / "cache")
    return {"bytes": size, "index": indexed, "reopen": measure("reopen", logdir, folder / "cache")}


def run_size(folder: Path, count: int, hosts: int = 1) -> dict[str, Any]:
    """Generate the file sets of a job and measure everything about it."""
    logdir = folder / f"traces{count}-{hosts}"
    file_sets.write(logdir, count, hosts)
    return {**run_files(folder, logdir), "logdir": logdir, "count": count}


def _number(found: dict[str, Any], name: str, form: str = ",.0f") -> str:
    return "failed" if "error" in found else format(found[name], form)


def print_sizes(console: Console, names: Sequence[str], results: Sequence[dict[str, Any]]) -> None:
    """The table of what grows, or should not."""
    table = Table("measure", *names)
    rows = {
        "event files, MB": [f"{found['bytes'] / 1e6:,.0f}" for found in results],
        "events indexed a second": [_number(found["index"], "per_second") for found in results],
        "the same once it runs": [_number(found["index"], "steady_per_second") for found in results],
        "processor seconds": [_number(found["index"], "processor_seconds", ".1f") for found in results],
        "resident before, MB": [_number(found["index"], "before_mb") for found in results],
        "resident at most while indexing, MB": [_number(found["index"], "indexed_mb") for found in results],
        "and while serving, MB": [_number(found["index"], "peak_mb") for found in results],
        "all processes together, at most, MB": [_number(found["index"], "together_mb") for found in results],
        "status while indexing, slowest, ms": [
            _number(found["index"], "status_while_loading_ms") for found in results
        ],
        "opened again: first page, s": [_number(found["reopen"], "seconds", ".2f") for found in results],
        "… with executions and alerts, s": [
            _number(found["reopen"], "with_executions_and_alerts", ".2f") for found in results
        ],
    }
    for name, cells in rows.items():
        table.add_row(name, *cells)
    console.print(table)


def print_routes(console: Console, names: Sequence[str], results: Sequence[dict[str, Any]]) -> None:
    """The table of routes."""
    table = Table("route, p95 in ms, warm", *names)
    measured = [found["index"].get("routes", {}) for found in results]
    for path in dict.fromkeys(path for routes in measured for path in routes):
        table.add_row(path, *(f"{routes[path]:.1f}" if path in routes else "failed" for routes in measured))
    console.print(table)


def print_others(console: Console, folder: Path, smallest: dict[str, Any]) -> None:
    """TensorFlow's own reader, and whether the plugin is active."""
    table = Table("measure", "")
    if find_spec("tensorflow") is None or smallest["count"] > MOST_FOR_BUILTIN:
        table.add_row("TensorFlow's own reader", "not measured: no TensorFlow, or too many events")
    else:
        found = measure("builtin", smallest["logdir"], folder / "cache")
        table.add_row("TensorFlow's own reader, smallest size: events a second", _number(found, "per_second"))
        table.add_row("TensorFlow's own reader: bytes an event", _number(found, "bytes_an_event"))
    many = folder / "many"
    for number in range(FOLDERS):
        (many / f"run{number}").mkdir(parents=True)
    found = measure("active", many, folder / "cache")
    table.add_row(f"is_active, {FOLDERS} folders without events, p95, ms", _number(found, "p95_ms", ".2f"))
    for number in range(FOLDERS):
        (many / f"run{number}" / "tfdbg_events.1.worker0.metadata").touch()
    found = measure("active", many, folder / "cache")
    table.add_row(f"is_active, {FOLDERS} folders with events, p95, ms", _number(found, "p95_ms", ".2f"))
    console.print(table)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--traces", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--hosts", type=int, default=HOSTS, help="the last size again, from so many hosts")
    parser.add_argument("--folder", help="where to put the files (default: the system's temporary folder)")
    args = parser.parse_args(argv)
    # Wide enough for a file: it is not the terminal's width that decides which cells are cut.
    console = Console(width=None if sys.stdout.isatty() else 150)
    console.print(
        f"{date.today()}, {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    )
    with tempfile.TemporaryDirectory(dir=args.folder) as temporary:
        folder = Path(temporary)
        names = [f"{count:,} traces" for count in args.traces]
        results = [run_size(folder, count) for count in args.traces]
        if args.hosts > 1:
            names.append(f"{args.traces[-1]:,} traces, {args.hosts} hosts")
            results.append(run_size(folder, args.traces[-1], args.hosts))
        for name, found in run_recorded(folder, args.traces[-1]).items():
            names.append(name)
            results.append(found)
        print_sizes(console, names, results)
        print_routes(console, names, results)
        print_others(console, folder, results[0])
    for found in results:
        for part in ("index", "reopen"):
            if "error" in found[part]:
                console.print(f"{part} failed: {found[part]['error']}", style="red")


if __name__ == "__main__":
    main()
