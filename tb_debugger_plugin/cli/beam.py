"""`tbdbg beam`: says what has taken its place."""

from __future__ import annotations

import argparse

from tb_debugger_plugin.cli.main import say


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb `beam`."""
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="WORD", help="is not looked at")


def run(args: argparse.Namespace) -> int:
    """Say what to use instead; return the exit code of a wrong command line."""
    say("tbdbg beam is gone; use tbdbg index LOGDIR --to OUT, with --scheduler ADDRESS for a Dask cluster.")
    return 2
