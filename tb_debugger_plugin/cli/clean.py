"""`tbdbg clean`: deletes tables that were made from event files.

Without a logdir it deletes all tables, with a logdir those of its runs, including runs that no longer exist.
It never deletes event files, or tables that a viewer has open.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from datetime import datetime

from tb_debugger_plugin.cli.reading import a_location
from tb_debugger_plugin.events.printable import printable
from tb_debugger_plugin.reading import choose
from tb_debugger_plugin.reading.kept_tables import Cleaned, clean


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
    cleaned = clean(args.logdir, dry_run=args.dry_run)
    if not any(cleaned) and args.logdir is not None:
        choose.check_folder(args.logdir)
    print(_facts(cleaned, args.dry_run) if args.json else _text(cleaned, args.dry_run))
    if cleaned.in_use:
        number = len(cleaned.in_use)
        print(f"tbdbg: {number} not deleted, because a viewer has them open.", file=sys.stderr)
    return 1 if cleaned.in_use and not args.dry_run else 0


def _facts(cleaned: Cleaned, dry_run: bool) -> str:
    facts = {
        "would_delete" if dry_run else "deleted": [str(database.path) for database in cleaned.deleted],
        "bytes": _size(cleaned),
        "in_use": [str(database.path) for database in cleaned.in_use],
    }
    return json.dumps(facts, indent=2)


def _text(cleaned: Cleaned, dry_run: bool) -> str:
    number, size = len(cleaned.deleted), f"{_size(cleaned) / 1e6:.1f} MB."
    if not dry_run:
        return f"{number} deleted, {size}"
    limit = f"The cache may hold {cleaned.limit / 1e6:.1f} MB."
    return "\n".join([*_lines(cleaned), f"{number} would be deleted, {size} {limit}"])


def _lines(cleaned: Cleaned) -> Iterable[str]:
    """Return a line of each database, the least recently used first."""
    for database in sorted(cleaned.deleted, key=lambda database: database.used):
        # The viewer makes tables that nobody has looked at yet, to judge a run.
        used = datetime.fromtimestamp(database.used).isoformat(" ", "minutes") if database.used else "never"
        name = f"{database.folder or database.path.name}{' (gone)' if database.is_gone else ''}"
        yield printable(f"{database.size / 1e6:8.1f} MB  {used:16}  {name}")


def _size(cleaned: Cleaned) -> int:
    return sum(database.size for database in cleaned.deleted)
