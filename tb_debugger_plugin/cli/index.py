"""`tbdbg index`: builds the tables of the runs of a logdir, or brings them up to date.

Takes a logdir and writes tables into the cache, which the viewer then opens at once.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from tb_debugger_plugin.analysis.snapshot import open_snapshot
from tb_debugger_plugin.cli.reading import add_arguments, chosen_runs, print_results, read_whole, run_each
from tb_debugger_plugin.events.printable import printable
from tb_debugger_plugin.index import indexer
from tb_debugger_plugin.index.runs import Run

if TYPE_CHECKING:
    # Before Python 3.14, the public name of this type does not exist at run time.
    from argparse import _SubParsersAction


def add_parser(subparsers: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb `index` to the command line."""
    parser = subparsers.add_parser("index", help="build the tables of runs, or bring them up to date")
    add_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Index runs; returns the exit code."""
    # The bar goes to stderr, so that stdout has the results only. It is drawn on terminals only.
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    # The console is quiet too, because Rich 13.0 prints an empty line even after a bar that is not drawn.
    console = Console(stderr=True, quiet=not sys.stderr.isatty())
    with Progress(*columns, console=console, disable=console.quiet) as bar:
        results = run_each(chosen_runs(args.logdir, args.name), lambda run: _index(run, bar))
    return print_results(results, _line, as_json=args.json)


def _index(run: Run, bar: Progress) -> dict[str, Any]:
    task = bar.add_task(run.name, total=None)

    def report(progress: indexer.Progress) -> None:
        bar.update(task, completed=progress.bytes_done, total=progress.bytes_total)

    begin = time.monotonic()
    with read_whole(run, report) as loader, open_snapshot(loader) as snapshot:
        if loader.progress is not None:
            report(loader.progress)
        return {
            "database": None if loader.database_path is None else str(loader.database_path),
            "executions": snapshot.num_executions,
            "graph_executions": snapshot.num_graph_executions,
            "bad_graph_executions": snapshot.num_bad_graph_executions,
            "bytes": loader.progress.bytes_done if loader.progress else 0,
            "seconds": round(time.monotonic() - begin, 3),
        }


def _line(name: str, facts: dict[str, Any]) -> str:
    counts = f"{facts['executions']:,} executions, {facts['graph_executions']:,} graph executions"
    kept = "" if facts["database"] else "; not kept, because another program has the tables open"
    return printable(f"{name}: {counts}, {facts['seconds']:.1f} s{kept}")
