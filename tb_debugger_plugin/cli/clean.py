"""`tbdbg clean`: delete tables that were made from event files.

Without a logdir all of them, with one those of its runs, also of runs that are gone. Event files are never
touched, and tables that a viewer has open are left to it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tb_debugger_plugin.cli.printable import printable
from tb_debugger_plugin.cli.reading import a_location, check_folder
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.index.cache import Cached, database_path, databases, is_in_use, remove_unused
from tb_debugger_plugin.index.eviction import cache_limit
from tb_debugger_plugin.index.runs import find_runs

if TYPE_CHECKING:
    # The public name of this type is not there at run time before Python 3.14.
    from argparse import _SubParsersAction


def add_parser(subparsers: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb `clean` to the command line."""
    parser = subparsers.add_parser("clean", help="delete tables from the cache; event files stay")
    parser.add_argument(
        "logdir", type=a_location, metavar="LOGDIR", nargs="?", help="only of the runs below (default: all)"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be deleted")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Delete, or say what would be deleted; the exit code, 1 when something is left that is in use."""
    found = databases() if args.logdir is None else _of(args.logdir)
    if not found and args.logdir is not None:
        check_folder(args.logdir)
    is_free = (lambda path: not is_in_use(path)) if args.dry_run else remove_unused
    victims = [one for one in found if is_free(one.path)]
    in_use = [one for one in found if one not in victims]
    print(_facts(victims, in_use, args.dry_run) if args.json else _text(victims, args.dry_run))
    if in_use:
        print(f"tbdbg: {len(in_use)} left, because a viewer has them open.", file=sys.stderr)
    return 1 if in_use and not args.dry_run else 0


def _of(logdir: Location) -> list[Cached]:
    """The databases of the runs of a logdir, also of those that are gone."""
    paths = {database_path(one) for one in find_runs(logdir)}
    # Not resolve(), which older Pythons let raise for a link that leads to itself.
    top = os.path.realpath(logdir) if isinstance(logdir, Path) else str(logdir)
    return [one for one in databases() if one.path in paths or f"{one.folder}/".startswith(f"{top}/")]


def _facts(victims: Sequence[Cached], in_use: Sequence[Cached], dry_run: bool) -> str:
    facts = {
        "would_delete" if dry_run else "deleted": [str(one.path) for one in victims],
        "bytes": _size(victims),
        "in_use": [str(one.path) for one in in_use],
    }
    return json.dumps(facts, indent=2)


def _text(victims: Sequence[Cached], dry_run: bool) -> str:
    if not dry_run:
        return f"{len(victims)} deleted, {_size(victims) / 1e6:.1f} MB."
    lines = [_line(one) for one in sorted(victims, key=lambda one: one.used)]
    limit = f"The cache may hold {cache_limit() / 1e6:.1f} MB."
    return "\n".join([*lines, f"{len(victims)} would be deleted, {_size(victims) / 1e6:.1f} MB. {limit}"])


def _line(one: Cached) -> str:
    used = datetime.fromtimestamp(one.used).isoformat(" ", "minutes")
    gone = " (gone)" if one.is_gone else ""
    return printable(f"{one.size / 1e6:8.1f} MB  {used}  {one.folder or one.path.name}{gone}")


def _size(found: Sequence[Cached]) -> int:
    return sum(one.size for one in found)
