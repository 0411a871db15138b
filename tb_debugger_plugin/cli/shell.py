"""`tbdbg shell`: the commands of tfdbg, over the runs of a logdir.

Takes a logdir and command lines from ``-c`` or from what is typed. Prints their answers.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import Final

from tb_debugger_plugin.cli.main import say
from tb_debugger_plugin.cli.reading import add_logdir
from tb_debugger_plugin.errors import DebuggerError, UsageError
from tb_debugger_plugin.reading import choose
from tb_debugger_plugin.shell.attached import Attached
from tb_debugger_plugin.shell.commands.table import COMMANDS
from tb_debugger_plugin.shell.program import Leave
from tb_debugger_plugin.shell.settings import Settings, user_file
from tb_debugger_plugin.shell.shell import Shell
from tb_debugger_plugin.shell.tensor_filters import TensorFilters, add_filters_of
from tb_debugger_plugin.shell.ui.converse import UIS, converse
from tb_debugger_plugin.shell.ui.plain_lines import run_commands

#: Seconds that a paused program waits for the next single call.
_KEEP_S: Final = 300.0


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb `shell`."""
    add_logdir(parser)
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
    parser.add_argument(
        "--keep",
        type=float,
        metavar="S",
        help="with --attach, seconds that a paused program waits after this call (default: 300 with -c)",
    )
    parser.add_argument("--ui", choices=tuple(UIS), help="a full screen, or plain lines (default: what fits)")


def run(args: argparse.Namespace) -> int:
    """Answer command lines; return the exit code."""
    choose.check_folder(args.logdir)
    if args.keep is not None and not (args.attach and 0 <= args.keep < 1e9):
        raise UsageError("--keep takes a number of seconds from 0 on, and is only for --attach.")
    keep_s = args.keep if args.keep is not None else _KEEP_S if args.commands else 0.0
    filters = TensorFilters()
    for file in args.filters:
        add_filters_of(file, filters)
    with contextlib.ExitStack() as stack:
        attached = None
        if args.attach:
            # Others need no gRPC, which takes long to import.
            from tb_debugger_plugin.live.viewer.attached import AttachedPrograms

            attached = stack.enter_context(contextlib.closing(AttachedPrograms(args.logdir, keep_s)))
        settings = Settings(user_file())
        shell = Shell(COMMANDS, args.logdir, args.name, filters=filters, settings=settings, attached=attached)
        stack.enter_context(shell)
        if args.commands:
            code = run_commands(shell, args.commands, sys.stdout)
            if attached is not None:
                _say_how_long(attached, keep_s)
            return code
        if shell.settings.problem is not None:
            say(shell.settings.problem)
        end = converse(shell, ui=args.ui)
        return end.code if isinstance(end, Leave) else 0


def _say_how_long(attached: Attached, keep_s: float) -> None:
    """Say how long a paused program waits for the next call of `tbdbg shell`."""
    with contextlib.suppress(DebuggerError):
        state = attached.chosen()["state"]
        if keep_s and state is not None and state["phase"] == "paused":
            say(f"The program stays paused for {keep_s:g} s (--keep S), and then runs on.")
