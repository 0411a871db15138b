"""The menu: the commands of the moment, to click on."""

from __future__ import annotations

import argparse

from tb_debugger_plugin.shell.command import Command, Needs
from tb_debugger_plugin.shell.screen import Line, Part, Style, link
from tb_debugger_plugin.shell.shell import Shell

#: What begins a line that is not run but typed, since it needs an argument.
TYPED = "\0"


def menu_line(shell: Shell, width: int, *, can_back: bool, can_forward: bool) -> Line:
    """Return the menu.

    Args:
      shell: Knows which commands can be used.
      width: The width of the window.
      can_back: Whether there is a screen before.
      can_forward: Whether there is a screen after.
    """
    arrows = (_arrow("<--", "prev", can_back), Part(" "), _arrow("-->", "next", can_forward))
    shown = [one for one in shell.commands() if one.needs is not Needs.SCREEN and one.name != "help"]
    left = width - sum(len(part.text) for part in arrows) - len(" | help")
    parts: list[Part] = [*arrows, Part(" | "), link("help", "help")]
    for command in shown:
        label = min((command.name, *command.aliases[:1]), key=len)
        left -= len(label) + 1
        if left < 0:
            break
        parts += [
            Part(" "),
            link(label, f"{TYPED}{command.name} " if _needs_argument(command) else command.name),
        ]
    return tuple(parts)


def _arrow(text: str, command: str, is_possible: bool) -> Part:
    return link(text, command) if is_possible else Part(text, Style.MUTED)


def _needs_argument(command: Command) -> bool:
    return any(
        action.required or (not action.option_strings and action.nargs not in ("?", "*"))
        for action in command.parser()._actions
        if not isinstance(action, argparse._HelpAction)
    )
