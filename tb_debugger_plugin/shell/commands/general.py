"""`help`, `version` and `exit`."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import TYPE_CHECKING, Final

import numpy as np

from tb_debugger_plugin.errors import DebuggerError
from tb_debugger_plugin.events.version import __version__
from tb_debugger_plugin.shell.command import Answer, Command, Completes, Needs
from tb_debugger_plugin.shell.program import Leave
from tb_debugger_plugin.shell.screen import Line, Part, Screen, Style, link, of_text, plain

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.shell import Shell

_NAME_WIDTH: Final = 22


def _help_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="the command to explain")


def _help(shell: Shell, args: argparse.Namespace) -> Answer:
    if args.command is not None:
        return Screen(_of_command(shell.command(args.command)))
    lines: list[Line] = []
    for title, commands in shell.groups().items():
        lines += [plain(title, Style.HEADING), *map(_summary, commands), ()]
    lines += [
        plain("COMMAND > FILE writes the answer to a file. COMMAND @[3, 4] scrolls to an element."),
        plain("`help COMMAND` shows the arguments of a command."),
    ]
    return Screen(lines)


def _summary(command: Command) -> Line:
    names = ", ".join((command.name, *command.aliases))
    space = " " * max(1, _NAME_WIDTH - len(names))
    return (Part("  "), link(names, f"help {command.name}"), Part(space + command.summary))


def _of_command(command: Command) -> list[Line]:
    lines = [plain(line) for line in command.parser().format_help().rstrip().split("\n")]
    if command.aliases:
        lines += [(), plain(f"aliases: {', '.join(command.aliases)}")]
    if command.examples:
        lines += [(), plain("examples:"), *((link(f"  {one}", one),) for one in command.examples)]
    return lines


def _version(shell: Shell, args: argparse.Namespace) -> Answer:
    del args
    lines = [f"tb-debugger-plugin {__version__}", f"numpy {np.__version__}"]
    running = getattr(sys.modules.get("tensorflow"), "__version__", None)
    if running is not None and shell.call is not None:
        lines.append(f"the program: TensorFlow {running}")
    # Without a recording, and with several, there is nothing more to say.
    with contextlib.suppress(DebuggerError):
        facts = shell.run.status()
        version = facts["tensorflow_version"] or ("" if shell.call is not None else "of an unknown version")
        lines += [f"the recording: TensorFlow {version}"] if version else []
        lines += [f"recorded by {facts['recorder']}"] if facts["recorder"] else []
    return of_text("\n".join(lines))


def _exit(shell: Shell, args: argparse.Namespace) -> Answer:
    del shell, args
    return Leave()


COMMANDS: Final = (
    Command(
        "help",
        ("h",),
        "list the commands, or explain one",
        _help,
        _help_arguments,
        Needs.NOTHING,
        Completes.COMMAND,
    ),
    Command("version", ("ver",), "print the versions", _version, needs=Needs.NOTHING),
    Command("exit", ("quit", "q"), "leave the shell", _exit, needs=Needs.NOTHING),
)
