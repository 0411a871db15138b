"""`tbdbg export`: writes the views and tables of runs as Parquet files.

Takes a logdir and writes one folder per run, with one file per view and table (`docs/schema.md`). The
viewer opens such a folder like event files.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import duckdb

from tb_debugger_plugin.analysis.snapshot import Json
from tb_debugger_plugin.cli.reading import add_arguments, print_each, run_each
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.printable import printable
from tb_debugger_plugin.reading.run import Run


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb `export`."""
    add_arguments(parser)
    parser.add_argument("--parquet", type=Path, metavar="DIR", required=True, help="folder to write into")


def run(args: argparse.Namespace) -> int:
    """Export runs; return the exit code."""
    folder = args.parquet.absolute()
    results = run_each(args, lambda run: _export(run, folder / run.name), writes=[folder])
    return print_each(args, results, dict, _line, "\n")


def _export(run: Run, folder: Path) -> Json:
    try:
        return {"folder": str(folder), "rows": run.export(folder)}
    except (OSError, duckdb.Error) as error:
        raise UsageError(f"{folder} cannot be written: {error}") from error


def _line(name: str, facts: Json) -> str:
    rows = sum(facts["rows"].values())
    return printable(f"{name}: {len(facts['rows'])} tables, {rows:,} rows in {facts['folder']}")
