"""`tbdbg clean`: delete tables that were made from event files.

In goes a logdir, or nothing for all; out goes what the cache holds of it. Event files are never touched, and
tables that a viewer has open are left to it.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from tb_debugger_plugin.events.places import place
from tb_debugger_plugin.index.cache import database_path, databases, is_in_use, remove_database
from tb_debugger_plugin.index.runs import find_runs

if TYPE_CHECKING:
    # The public name of this type is not there at run time before Python 3.14.
    from argparse import _SubParsersAction


def add_parser(subparsers: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb `clean` to the command line."""
    parser = subparsers.add_parser("clean", help="delete tables from the cache; event files stay")
    parser.add_argument(
        "logdir", type=place, metavar="LOGDIR", nargs="?", help="only of the runs below (default: all)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Delete; the exit code, 1 when something is in use."""
    paths = databases() if args.logdir is None else [database_path(one) for one in find_runs(args.logdir)]
    found = [path for path in paths if path.exists()]
    in_use = [path for path in found if is_in_use(path)]
    victims = [path for path in found if path not in in_use]
    size = sum(path.stat().st_size for path in victims)
    for path in victims:
        remove_database(path)
    if args.json:
        facts = {"deleted": list(map(str, victims)), "bytes": size, "in_use": list(map(str, in_use))}
        print(json.dumps(facts, indent=2))
    else:
        print(f"{len(victims)} deleted, {size / 1e6:.1f} MB.")
    if in_use:
        print(f"tbdbg: {len(in_use)} left, because a viewer has them open.", file=sys.stderr)
    return 1 if in_use else 0
