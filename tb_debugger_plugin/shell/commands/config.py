"""`config`: shows the settings, or changes one."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.shell.command import Answer, Command, Completes, Needs
from tb_debugger_plugin.shell.links import command_line
from tb_debugger_plugin.shell.screen import Line, Part, Screen, Style, plain
from tb_debugger_plugin.shell.settings import SETTINGS, Settings

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.shell import Shell

_WIDTH: Final = 32


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", default="show", metavar="show|set", help="the default is show")
    parser.add_argument("name", nargs="?", metavar="NAME", help="a setting")
    parser.add_argument("value", nargs="?", metavar="VALUE", help="its new value")


def _config(shell: Shell, args: argparse.Namespace) -> Answer:
    if args.action == "set":
        if args.name is None or args.value is None:
            raise UsageError("config set needs the name and the value of a setting.")
        shell.settings.set(args.name, args.value)
    elif args.action != "show" or args.value is not None:
        raise UsageError("config can `show [NAME]`, and `set NAME VALUE`.")
    return Screen(_lines(shell.settings, args.name))


def _lines(settings: Settings, name: str | None) -> list[Line]:
    lines: list[Line] = [plain("Settings", Style.HEADING)]
    if name is not None:
        settings[name]  # raises if there is none
    for one in SETTINGS:
        if name in (None, one.name):
            text = f"  {one.name}: {settings[one.name]}"
            flip = isinstance(settings[one.name], bool)
            command = command_line("config", "set", one.name, str(not settings[one.name])) if flip else None
            lines.append(
                (Part(text, Style.PLAIN, command), Part(f"{' ' * (_WIDTH - len(text))}{one.meaning}"))
            )
    return [*lines, *_file_lines(settings)]


def _file_lines(settings: Settings) -> Iterator[Line]:
    if settings.problem is not None:
        yield plain(settings.problem, Style.ERROR)
    elif settings.file is not None:
        yield plain(f"kept in {settings.file}", Style.MUTED)


COMMAND: Final = Command(
    "config",
    ("cfg",),
    "show the settings, or change one",
    _config,
    _arguments,
    Needs.NOTHING,
    Completes.SETTING,
    examples=("config show", "config set graph_recursion_depth 5"),
)
