"""`tbdbg clean`: deletes tables that were made from event files.

Without a logdir it deletes all tables, with a logdir those of its runs, including runs that no longer exist.
It never deletes event files, or tables that a viewer has open.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from tb_debugger_plugin.cli.reading import a_location, check_folder
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.events.printable import printable
from tb_debugger_plugin.index.cache import (
    Cached,
    cache_limit,
    database_path,
    databases,
    is_in_use,
    remove_unused,
)
from tb_debugger_plugin.index.runs import find_runs


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb `clean`."""
    parser.add_argument(
        "logdir",
        type=a_location,
        metavar="LOGDIR",
        nargs="?",
        help="delete only the tables of the runs below (default: all)",
    )
    parser.add_argument("--dry-run", action="store_true", help="only show what would be deleted")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Delete tables, or show what would be deleted; return the exit code, 1 when some tables are in use."""
    cached = databases() if args.logdir is None else _databases_of(args.logdir)
    if not cached and args.logdir is not None:
        check_folder(args.logdir)
    is_free = (lambda path: not is_in_use(path)) if args.dry_run else remove_unused
    deleted = [database for database in cached if is_free(database.path)]
    in_use = [database for database in cached if database not in deleted]
    print(_facts(deleted, in_use, args.dry_run) if args.json else _text(deleted, args.dry_run))
    if in_use:
        print(f"tbdbg: {len(in_use)} not deleted, because a viewer has them open.", file=sys.stderr)
    return 1 if in_use and not args.dry_run else 0


def _databases_of(logdir: Location) -> list[Cached]:
    """Return the databases of the runs of a logdir, including runs that no longer exist."""
    paths = {database_path(run) for run in find_runs(logdir)}
    # Not resolve(), which raises in older Pythons for a link that leads to itself.
    top = os.path.realpath(logdir) if isinstance(logdir, Path) else str(logdir)
    return [
        database
        for database in databases()
        if database.path in paths or f"{database.folder}/".startswith(f"{top}/")
    ]


def _facts(deleted: Sequence[Cached], in_use: Sequence[Cached], dry_run: bool) -> str:
    facts = {
        "would_delete" if dry_run else "deleted": [str(database.path) for database in deleted],
        "bytes": _size(deleted),
        "in_use": [str(database.path) for database in in_use],
    }
    return json.dumps(facts, indent=2)


def _text(deleted: Sequence[Cached], dry_run: bool) -> str:
    if not dry_run:
        return f"{len(deleted)} deleted, {_size(deleted) / 1e6:.1f} MB."
    lines = [_line(database) for database in sorted(deleted, key=lambda database: database.used)]
    limit = f"The cache may hold {cache_limit() / 1e6:.1f} MB."
    return "\n".join([*lines, f"{len(deleted)} would be deleted, {_size(deleted) / 1e6:.1f} MB. {limit}"])


def _line(database: Cached) -> str:
    used = datetime.fromtimestamp(database.used).isoformat(" ", "minutes")
    gone = " (gone)" if database.is_gone else ""
    return printable(f"{database.size / 1e6:8.1f} MB  {used}  {database.folder or database.path.name}{gone}")


def _size(cached: Sequence[Cached]) -> int:
    return sum(database.size for database in cached)
