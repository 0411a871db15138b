"""`run` and `detach`: let a stopped program go on."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.shell.command import Answer, Command, Completes, Needs
from tb_debugger_plugin.shell.commands.live import detach_program
from tb_debugger_plugin.shell.commands.profiles import compiled
from tb_debugger_plugin.shell.program import Detach, Resume, RunRequest

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.shell import Shell

_PATTERNS: Final = (
    ("node_name_filter", "record only nodes whose names begin so"),
    ("op_type_filter", "record only ops whose types begin so"),
    ("tensor_dtype_filter", "record only tensors whose dtypes begin so"),
)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        *("-t", "--times"),
        type=int,
        default=1,
        metavar="T",
        help="stop after T calls; those before the last are not recorded",
    )
    parser.add_argument(
        "-n", "--no_debug", action="store_true", help="do not record; stop before the next call"
    )
    parser.add_argument(
        "-f", "--till_filter_pass", metavar="NAME", help="go on until a tensor passes this filter"
    )
    parser.add_argument(
        *("-fenn", "--filter_exclude_node_names"),
        metavar="RE",
        help="with -f: not the tensors of nodes whose names match this",
    )
    for name, meaning in _PATTERNS:
        parser.add_argument(f"--{name}", metavar="RE", help=meaning)
    parser.add_argument("-p", "--profile", action="store_true", help="record the times of ops")


def _run(shell: Shell, args: argparse.Namespace) -> Answer:
    if args.times < 1:
        raise UsageError(f"-t is {args.times}; give a whole number from 1 on.")
    if args.till_filter_pass is not None:
        shell.filters.get(args.till_filter_pass)
    elif args.filter_exclude_node_names is not None:
        raise UsageError("-fenn needs -f: without a filter there is nothing to leave out.")
    if args.no_debug and (args.till_filter_pass is not None or args.profile):
        raise UsageError("-n records nothing, so it cannot be together with -f or -p.")
    for name in ("filter_exclude_node_names", *(name for name, _ in _PATTERNS)):
        compiled(getattr(args, name), f"--{name}")
    return Resume(
        RunRequest(
            times=args.times,
            is_recorded=not args.no_debug,
            till_filter=args.till_filter_pass,
            exclude_names=args.filter_exclude_node_names,
            node_names=args.node_name_filter,
            op_types=args.op_type_filter,
            dtypes=args.tensor_dtype_filter,
            is_profiled=args.profile,
        )
    )


def _detach(shell: Shell, args: argparse.Namespace) -> Answer:
    del args
    return Detach() if shell.attached is None else detach_program(shell)


COMMANDS: Final = (
    Command(
        "run",
        ("r",),
        "let the program go on, and record",
        _run,
        _arguments,
        Needs.PROGRAM,
        option_completes=(("-f", Completes.FILTER), ("--till_filter_pass", Completes.FILTER)),
        examples=("run", "run -n", "run -t 10", "run -f has_inf_or_nan", "run -p"),
    ),
    Command(
        "detach", (), "let the program go on at full speed, without the shell", _detach, needs=Needs.EITHER
    ),
)
