"""`tbdbg beam`: says what has taken its place."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tb_debugger_plugin.cli.main import say

if TYPE_CHECKING:
    # Before Python 3.14, the public name of this type does not exist at run time.
    from argparse import _SubParsersAction


def add_parser(subparsers: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb `beam` to the command line."""
    parser = subparsers.add_parser("beam", help="gone: use index --to")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="WORD", help="is not looked at")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Say what to use instead; return the exit code of a wrong command line."""
    say("tbdbg beam is gone; use tbdbg index LOGDIR --to OUT, with --scheduler ADDRESS for a Dask cluster.")
    return 2
