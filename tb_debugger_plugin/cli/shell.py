"""`tbdbg shell`: the commands of tfdbg, over the runs of a logdir.

Takes a logdir and command lines from ``-c`` or from what is typed. Prints their answers.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tb_debugger_plugin.cli.reading import a_location, check_folder, say
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.shell.filter_files import add_filters_of
from tb_debugger_plugin.shell.program import Leave
from tb_debugger_plugin.shell.settings import Settings, user_file
from tb_debugger_plugin.shell.shell import Shell
from tb_debugger_plugin.shell.tensor_filters import TensorFilters
from tb_debugger_plugin.shell.ui.converse import UIS, converse
from tb_debugger_plugin.shell.ui.plain_lines import run_commands

if TYPE_CHECKING:
    # The public name of this type is not there at run time before Python 3.14.
    from argparse import _SubParsersAction

    from tb_debugger_plugin.live.viewer.attached import AttachedPrograms


def add_parser(subparsers: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb `shell` to the command line."""
    parser = subparsers.add_parser("shell", help="ask about a recording with the commands of tfdbg")
    parser.add_argument(
        "logdir", type=a_location, metavar="LOGDIR", help="a dump root, or any folder above some"
    )
    parser.add_argument(
        "--attach", action="store_true", help="join the programs with breakpoints that run below LOGDIR"
    )
    parser.add_argument("--run", dest="name", metavar="NAME", help="the run to open first")
    parser.add_argument(
        "--filters",
        action="append",
        default=[],
        metavar="FILE",
        help="a Python file whose functions (datum, tensor) become tensor filters; it is run",
    )
    parser.add_argument(
        "-c", dest="commands", action="append", metavar="COMMAND", help="run this and leave; may be repeated"
    )
    parser.add_argument("--ui", choices=tuple(UIS), help="a full screen, or plain lines (default: what fits)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Answer command lines; returns the exit code."""
    check_folder(args.logdir)
    filters = TensorFilters()
    for file in args.filters:
        add_filters_of(file, filters)
    with contextlib.ExitStack() as stack:
        attached = stack.enter_context(_attached(args.logdir)) if args.attach else None
        settings = Settings(user_file())
        shell = Shell(args.logdir, args.name, filters=filters, settings=settings, attached=attached)
        stack.enter_context(shell)
        if args.commands:
            return run_commands(shell, args.commands, sys.stdout)
        if shell.settings.problem is not None:
            say(shell.settings.problem)
        end = converse(shell, ui=args.ui)
        return end.code if isinstance(end, Leave) else 0


@contextlib.contextmanager
def _attached(logdir: Location) -> Iterator[AttachedPrograms]:
    # Others need no gRPC, which takes long to import.
    from tb_debugger_plugin.live.viewer.attached import AttachedPrograms

    with contextlib.closing(AttachedPrograms(logdir)) as programs:
        yield programs
