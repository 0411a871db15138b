"""`runs`: lists the runs of the logdir, or opens one of them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from tb_debugger_plugin.reading import choose
from tb_debugger_plugin.shell.command import Answer, Command, Completes
from tb_debugger_plugin.shell.commands.run_status import status_lines
from tb_debugger_plugin.shell.links import command_line
from tb_debugger_plugin.shell.screen import Line, Part, Screen, Style, link, plain, table
from tb_debugger_plugin.shell.times import date_of

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.shell import Shell


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="the run to open")


def _runs(shell: Shell, args: argparse.Namespace) -> Answer:
    if args.name is not None:
        return Screen([*status_lines(shell.choose_run(args.name))])
    return Screen(_list(shell))


def _list(shell: Shell) -> list[Line]:
    runs = choose.chosen(shell.folder)
    rows = [[Part(text, Style.HEADING) for text in ("", "Begin", "Run")]]
    for run in sorted(runs, key=lambda run: (run.start_time, run.name)):
        begin = date_of(run.start_time)
        mark = Part("*" if run.name == shell.run_name else "")
        rows.append([mark, Part(begin), link(run.name, command_line("runs", run.name))])
    head = [plain(f"{len(runs):,} run(s); `runs NAME` opens one:", Style.HEADING), ()]
    return [*head, *table(rows)]


COMMAND: Final = Command(
    "runs",
    (),
    "list the runs, or open one",
    _runs,
    _arguments,
    completes=Completes.RUN,
    examples=("runs",),
)
