"""`tbdbg sql`: runs a query on the tables of a run.

Takes a logdir and an SQL query on the views and tables of `docs/schema.md`, and prints rows. The query sees
one commit and cannot change anything.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from typing import Final

import duckdb
from rich.console import Console
from rich.table import Table

from tb_debugger_plugin.cli.reading import add_arguments, only_run
from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.events.printable import printable

_BATCH_ROWS: Final = 10_000
#: Rows of a table on a terminal; a pipe gets all rows.
_SHOWN: Final = 1000


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb `sql`."""
    add_arguments(parser, single=True)
    parser.add_argument(
        "query", metavar="QUERY", help="such as 'SELECT step, sum(nan) FROM tensors GROUP BY step'"
    )


def run(args: argparse.Namespace) -> int:
    """Run the query and print its rows; return the exit code."""
    with only_run(args) as opened:
        try:
            _print(opened.cursor(args.query), as_json=args.json)
        except duckdb.Error as error:
            raise BadQueryError(f"The query failed: {error}") from error
    return 0


def _print(found: duckdb.DuckDBPyConnection, *, as_json: bool) -> None:
    names = [str(column[0]) for column in found.description or ()]
    if as_json:
        rows = found.fetchall()
        print(json.dumps([dict(zip(names, map(_plain, row), strict=True)) for row in rows], indent=2))
    elif sys.stdout.isatty():
        _print_table(names, found.fetchmany(_SHOWN + 1))
    else:
        print("\t".join(names))
        while rows := found.fetchmany(_BATCH_ROWS):
            print("\n".join("\t".join(map(_cell, row)) for row in rows))


def _print_table(names: list[str], rows: Sequence[tuple[object, ...]]) -> None:
    table = Table(*names)
    for row in rows[:_SHOWN]:
        table.add_row(*map(_cell, row))
    # A name in a log may look like Rich's markup.
    console = Console(markup=False, highlight=False)
    console.print(table, markup=False)
    if len(rows) > _SHOWN:
        console.print(f"Only the first {_SHOWN} rows are shown; a pipe or --json gets all.")


def _cell(value: object) -> str:
    return printable("" if value is None else str(value))


def _plain(value: object) -> object:
    """Convert a value of a table for JSON: NaN and infinities become null, other types text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    return str(value)
