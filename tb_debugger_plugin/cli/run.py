"""`tbdbg run`: runs a program with the shell around its calls, under the debugger's page, or records it.

Takes a script or a module with its arguments. The program replaces this process: its exit status, its signals
and its terminal are its own.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Final

from tb_debugger_plugin import GUARD_VARIABLE
from tb_debugger_plugin.errors import NotFoundError, UsageError

#: The module that runs the program: in its process, because only there TensorFlow is imported.
_RUNNER: Final = "tb_debugger_plugin.tfdbg.run_program"


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb `run`."""
    parser.usage = (
        "tbdbg run [--shell | --interactive | --guard] [--logdir DIR] [--mode MODE] (SCRIPT | -m MODULE) "
        "[ARGUMENT ...]"
    )
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--shell", action="store_true", help="stop before and after each call of a function")
    way.add_argument(
        "--interactive", action="store_true", help="let the debugger's page in TensorBoard stop the program"
    )
    way.add_argument(
        "--guard", action="store_true", help="record calls with a bad value only, as mode GUARD does"
    )
    parser.add_argument(
        "--logdir",
        metavar="DIR",
        help="the folder for the recording; needed without --shell, --interactive and --guard (default of "
        "the latter two: tb_debugger_logs)",
    )
    parser.add_argument(
        "--mode",
        help="what to record of each tensor, without --shell (default: FULL_HEALTH, with --interactive "
        "FULL_NUMERICS)",
    )
    waits = parser.add_mutually_exclusive_group()
    waits.add_argument(
        "--no-wait", action="store_true", help="with --interactive, do not wait before the first call or op"
    )
    waits.add_argument(
        "--wait", type=float, metavar="S", help="with --interactive, wait there at most so many seconds"
    )
    parser.add_argument(
        "--when-alone",
        type=float,
        metavar="S",
        help="with --interactive, seconds that a paused program waits when its last debugger has left "
        "(default: 5)",
    )
    parser.add_argument(
        "--may-change-values", action="store_true", help="with --interactive, let the page change values"
    )
    parser.add_argument("--ui", choices=("full", "plain"), help="the user interface of the shell")
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help="run a module, as `python -m`")
    parser.add_argument("script", nargs=argparse.REMAINDER, help="the program and its arguments")


def run(args: argparse.Namespace) -> int:
    """Replace this process by the program; return only if that fails."""
    program = ["-m", *args.module] if args.module else args.script
    if not program:
        raise UsageError("tbdbg run needs a program: a script, or -m and a module.")
    if not (args.shell or args.interactive or args.guard) and args.logdir is None:
        raise UsageError("Give --logdir, the folder for the recording; or --shell, --interactive or --guard.")
    if args.guard and args.mode is not None:
        raise UsageError("--guard is a mode; leave out --mode.")
    times = (args.wait, args.when_alone)
    if not all(one is None or 0 <= one < 1e9 for one in times):
        raise UsageError("--wait and --when-alone take a number of seconds from 0 on.")
    if (args.no_wait or args.may_change_values or times != (None, None)) and not args.interactive:
        raise UsageError(
            "--no-wait, --wait, --when-alone and --may-change-values are only for --interactive."
        )
    if program[0] != "-m" and not os.path.exists(program[0]):
        raise NotFoundError(f"There is no program {program[0]}.")
    settings = {
        "shell": args.shell,
        "logdir": args.logdir,
        "mode": "GUARD" if args.guard else args.mode,
        "ui": args.ui,
        "interactive": args.interactive,
        "wait": not args.no_wait if args.wait is None else args.wait,
        "when_alone": args.when_alone,
        "may_change_values": args.may_change_values,
    }
    os.environ.pop(GUARD_VARIABLE, None)  # what is asked for here counts
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", _RUNNER, json.dumps(settings), *program])
