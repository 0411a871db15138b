"""`prev`, `next`, `mouse`, `/` and `@`: what the full screen does with itself.

The full screen takes these lines before the shell does. Here they have their rows, so that `help` and
completion know them, and their checks of arguments.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.shell.command import Answer, Command, Needs

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.shell import Shell


def _of_the_screen(shell: Shell, args: argparse.Namespace) -> Answer:
    raise UsageError("This is a command of the full screen.")


def _mouse_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("state", nargs="?", choices=("on", "off"), help="on or off (default: the other one)")


COMMANDS: Final = (
    Command("prev", ("p",), "go back to the screen before", _of_the_screen, needs=Needs.SCREEN),
    Command("next", ("n",), "go on to the screen after", _of_the_screen, needs=Needs.SCREEN),
    Command(
        "mouse",
        ("m",),
        "take the mouse, or leave it to the terminal",
        _of_the_screen,
        _mouse_arguments,
        Needs.SCREEN,
    ),
    Command("/REGEX", ("/",), "search the screen; `n` and `N` go on", _of_the_screen, needs=Needs.SCREEN),
    Command("@[3, 4]", ("@",), "scroll to an element of the array", _of_the_screen, needs=Needs.SCREEN),
)
