"""The texts of the title, of the menu and of the status line."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterable

from tb_debugger_plugin.events.printable import printable
from tb_debugger_plugin.shell.command import Command, Needs
from tb_debugger_plugin.shell.screen import Line, Mood, Part, Places, Style, link
from tb_debugger_plugin.shell.shell import Shell
from tb_debugger_plugin.shell.ui.first_screen import mood_of
from tb_debugger_plugin.shell.ui.full_screen.bars import fitting
from tb_debugger_plugin.shell.ui.full_screen.pages import Page


def title_line(shell: Shell, page: Page | None, width: int) -> tuple[Line, Mood]:
    """Return the title, and the mood that colours it: that of the screen, or of the stopped program."""
    screen = None if page is None else page.screen
    mood = mood_of(shell.call) if screen is None or screen.mood is Mood.ANSWER else screen.mood
    title = printable((screen.title if screen is not None else "") or _of_call(shell))
    line = printable(page.line) if page is not None else ""
    text = fitting((title, line), width - 2, " · ")
    return (Part(f" {text}".ljust(width)),), mood


def _of_call(shell: Shell) -> str:
    call = shell.call
    if call is None:
        return "tbdbg"
    state = "before" if not call.is_over else "after" if call.error is None else "failed:"
    thread = f" in thread {call.thread}" if call.thread else ""
    return f"{state} call {call.number} of {call.what}{thread}"


def status_text(
    shell: Shell,
    page: Page | None,
    *,
    message: str,
    top: int,
    height: int,
    width: int,
    mouse_is_on: bool,
) -> str:
    """Return the status line, with as many facts as the window has room for.

    Args:
      shell: Knows the run.
      page: The page that is shown.
      message: What the user has to know now; empty for nothing.
      top: The first line in the window.
      height: The number of lines in the window.
      width: The number of columns of the window.
      mouse_is_on: Whether the mouse is ours.
    """
    facts = (
        message,
        _scrolled(page, top, height),
        _elements(page, top, height),
        f"Mouse: {'ON' if mouse_is_on else 'OFF'}",
        printable(_name_of_run(shell)),
    )
    return f" {fitting(facts, width - 2)}".ljust(width)


def _name_of_run(shell: Shell) -> str:
    """Return the name of the run; that of its folder if the logdir is the run."""
    name = shell.run_name or ""
    return str(shell.logdir).rstrip("/").rpartition("/")[2] if name == "." else name


def _scrolled(page: Page | None, top: int, height: int) -> str:
    left = (0 if page is None else len(page.lines)) - height
    return f"Scroll: {100 * min(1.0, top / left):.2f}%" if left > 0 else "All"


def _elements(page: Page | None, top: int, height: int) -> str:
    """Return the indices of the elements in the first and in the last line of the window."""
    if page is None or page.screen.places is None:
        return ""
    lines = range(top, min(top + height, len(page.lines)))
    with contextlib.suppress(Exception):  # a line that cannot be read says so itself
        first = _first_place(page.screen.places, lines)
        last = _first_place(page.screen.places, reversed(lines))
        return "" if first is None or last is None else f"{_indices(first)} to {_indices(last)}"
    return ""


def _first_place(places: Places, lines: Iterable[int]) -> tuple[int, ...] | None:
    return next((place for place in map(places.indices_at, lines) if place is not None), None)


def _indices(place: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, place))}]"


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
