"""`tbdbg index`: build the tables of the runs of a logdir, or bring them up to date.

In goes a logdir, out come tables in the cache, which the viewer then opens at once.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from tb_debugger_plugin.analysis.snapshot import open_snapshot
from tb_debugger_plugin.cli.printable import printable
from tb_debugger_plugin.cli.reading import add_arguments, chosen_runs, look_at_each, print_found, read_whole
from tb_debugger_plugin.index import indexer
from tb_debugger_plugin.index.runs import Run

if TYPE_CHECKING:
    # The public name of this type is not there at run time before Python 3.14.
    from argparse import _SubParsersAction


def add_parser(subparsers: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb `index` to the command line."""
    parser = subparsers.add_parser("index", help="build the tables of runs, or bring them up to date")
    add_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Index; the exit code."""
    # The bar goes to stderr, so that what is printed stays clean, and is not drawn where nobody sees it.
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    # Quiet, too: Rich 13.0 ends also a bar that is not drawn with an empty line.
    console = Console(stderr=True, quiet=not sys.stderr.isatty())
    with Progress(*columns, console=console, disable=console.quiet) as bar:
        found = look_at_each(chosen_runs(args.logdir, args.name), lambda one: _index(one, bar))
    return print_found(found, _line, as_json=args.json)


def _index(one: Run, bar: Progress) -> dict[str, Any]:
    task = bar.add_task(one.name, total=None)

    def report(progress: indexer.Progress) -> None:
        bar.update(task, completed=progress.bytes_done, total=progress.bytes_total)

    begin = time.monotonic()
    with read_whole(one, report) as loader, open_snapshot(loader) as snapshot:
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
    kept = "" if facts["database"] else "; another program has the tables open, so these were not kept"
    return printable(f"{name}: {counts}, {facts['seconds']:.1f} s{kept}")
