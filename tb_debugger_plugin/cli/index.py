"""`tbdbg index`: builds the tables of the runs of a logdir, or brings them up to date.

Takes a logdir and writes tables into the cache, which the viewer then opens at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from tb_debugger_plugin.cli.reading import add_arguments, print_results, run_each
from tb_debugger_plugin.events.printable import printable
from tb_debugger_plugin.index import indexer
from tb_debugger_plugin.index.runs import FoundRun
from tb_debugger_plugin.reading.run import Run

if TYPE_CHECKING:
    # Before Python 3.14, the public name of this type does not exist at run time.
    from argparse import _SubParsersAction


def add_parser(subparsers: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb `index` to the command line."""
    parser = subparsers.add_parser("index", help="build the tables of runs, or bring them up to date")
    add_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Index runs; return the exit code."""
    # The bar goes to stderr, so that stdout has the results only. It is drawn on terminals only.
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    # The console is quiet too, because Rich 13.0 prints an empty line even after a bar that is not drawn.
    console = Console(stderr=True, quiet=not sys.stderr.isatty())
    with Progress(*columns, console=console, disable=console.quiet) as bar:
        results = run_each(args, _facts, report=lambda run: _shown(run, bar))
    return print_results(results, _line, as_json=args.json)


def _shown(run: FoundRun, bar: Progress) -> Callable[[indexer.LoadProgress], None]:
    """Return what shows the progress of a run."""
    task = bar.add_task(run.name, total=None)
    return lambda progress: bar.update(task, completed=progress.bytes_done, total=progress.bytes_total)


def _facts(run: Run) -> dict[str, Any]:
    facts = run.status()
    return {
        "database": None if run.database is None else str(run.database),
        "executions": facts["num_executions"],
        "graph_executions": facts["num_graph_executions"],
        "bad_graph_executions": facts["num_bad_graph_executions"],
        "bytes": run.bytes_read,
        "seconds": round(run.seconds_read, 3),
    }


def _line(name: str, facts: dict[str, Any]) -> str:
    counts = f"{facts['executions']:,} executions, {facts['graph_executions']:,} graph executions"
    kept = "" if facts["database"] else "; not kept, because another program has the tables open"
    return printable(f"{name}: {counts}, {facts['seconds']:.1f} s{kept}")
