"""`tbdbg index`: builds the tables of the runs of a logdir, or brings them up to date.

Takes a logdir and writes tables into the cache, which the viewer then opens at once. With `--to`, processes
of this machine or of a cluster write them as Parquet files; this needs the extra `cluster`.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from tb_debugger_plugin.analysis.snapshot import Json
from tb_debugger_plugin.cli.main import say
from tb_debugger_plugin.cli.reading import Failure, a_location, add_arguments, print_each, run_each
from tb_debugger_plugin.errors import DebuggerError, UsageError
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.events.printable import printable
from tb_debugger_plugin.reading import choose
from tb_debugger_plugin.reading.run import OnProgress, Run

if TYPE_CHECKING:
    from tb_debugger_plugin.pipeline import cluster


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb `index`."""
    add_arguments(parser)
    parser.add_argument(
        "--to", type=a_location, metavar="OUT", help="folder or URL to write Parquet files into, in parallel"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--scheduler", metavar="ADDRESS", help="with --to: of a Dask cluster, such as tcp://head:8786"
    )
    where.add_argument(
        "--workers",
        type=_a_number,
        metavar="N",
        help="with --to: processes on this machine (default: one for each processor)",
    )
    parser.set_defaults(parser=parser)


def _a_number(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Index runs; return the exit code."""
    if args.to is not None:
        return _in_parallel(args)
    if args.scheduler or args.workers:
        args.parser.error("--scheduler and --workers need --to OUT")
    with _bar(DownloadColumn()) as bar:
        results = run_each(args, _facts, report=lambda name: _shown(name, bar))
    return print_each(args, results, dict, _line, "\n")


def _bar(*columns: ProgressColumn) -> Progress:
    """Return a bar on stderr, so that stdout has the results only; it is drawn on terminals only."""
    # The console is quiet too, because Rich 13.0 prints an empty line even after a bar that is not drawn.
    console = Console(stderr=True, quiet=not sys.stderr.isatty())
    shown = (TextColumn("{task.description}"), BarColumn(), *columns, TimeRemainingColumn())
    return Progress(*shown, console=console, disable=console.quiet)


def _shown(name: str, bar: Progress) -> OnProgress:
    """Return what shows the progress of a run."""
    task = bar.add_task(name, total=None)
    return lambda done, total: bar.update(task, completed=done, total=total)


def _facts(run: Run) -> Json:
    lengths = run.list_lengths
    return {
        "database": None if run.database is None else str(run.database),
        **{name: lengths[name] for name in ("executions", "graph_executions", "bad_graph_executions")},
        "bytes": run.bytes_read,
        "seconds": round(run.seconds_read, 3),
    }


def _line(name: str, facts: Json) -> str:
    counts = f"{facts['executions']:,} executions, {facts['graph_executions']:,} graph executions"
    kept = "" if facts["database"] else "; not kept, because another program has the tables open"
    return printable(f"{name}: {counts}, {facts['seconds']:.1f} s{kept}")


def _in_parallel(args: argparse.Namespace) -> int:
    """Write the tables of runs into folders below OUT, as `tbdbg export` does."""
    # Workers may have another current folder.
    logdir, out = _absolute(args.logdir), _absolute(args.to)
    runs = choose.chosen(logdir, args.name, say)
    try:
        # Imported only here, because Dask is large and most people never need it.
        from tb_debugger_plugin.pipeline import cluster
    except ImportError as error:
        raise UsageError(f"Dask is needed (pip install 'tb-debugger-plugin[cluster]'): {error}") from error
    results: dict[str, Json | Failure] = {}
    folder = out
    try:
        with (
            cluster.cluster(args.scheduler, args.workers) as client,
            _bar(MofNCompleteColumn(), TextColumn("{task.fields[rate]}")) as bar,
        ):
            for each in runs:
                folder = _below(out, each.name)
                try:
                    began = time.monotonic()
                    rows = cluster.convert(client, each, str(folder), report=_steps(each.name, bar))
                    seconds = round(time.monotonic() - began, 3)
                    results[each.name] = {"folder": str(folder), "rows": rows, "seconds": seconds}
                except (DebuggerError, OSError) as error:
                    results[each.name] = Failure(f"{error} {folder} is not a run.")
    except KeyboardInterrupt:
        say(f"Stopped; {folder} is not a run.")
        return 128 + signal.SIGINT
    return print_each(args, results, dict, _written, "\n")


def _absolute(place: Location) -> Location:
    return place.absolute() if isinstance(place, Path) else place


def _below(out: Location, name: str) -> Location:
    return out if name == "." else out / name


def _steps(name: str, bar: Progress) -> Callable[[cluster.Progress], None]:
    """Return what shows the steps of a conversion."""
    words = {"survey": "chunks read", "write": "parts written"}
    tasks: dict[str, TaskID] = {}
    began: dict[str, float] = {}

    def show(progress: cluster.Progress) -> None:
        step, now = progress.step, time.monotonic()
        if step not in tasks:
            began[step] = now
            tasks[step] = bar.add_task(f"{name}: {words[step]}", rate="")
        seconds = now - began[step]
        rate = f"{progress.rows / seconds:,.0f} rows/s" if seconds else ""
        bar.update(tasks[step], completed=progress.done, total=progress.total, rate=rate)

    return show


def _written(name: str, facts: Json) -> str:
    rows = facts["rows"]
    counts = f"{rows['execution']:,} executions, {rows['graph_execution_traces']:,} graph executions"
    return printable(f"{name}: {counts} in {facts['folder']}, {facts['seconds']:.1f} s")
