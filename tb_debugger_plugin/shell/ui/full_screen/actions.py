"""What the full screen does with itself: the lines that it takes before the shell does.

The rows of `shell.commands.on_screen` describe the same lines for `help`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.shell import words
from tb_debugger_plugin.shell.commands import on_screen
from tb_debugger_plugin.shell.ui.full_screen import searching
from tb_debugger_plugin.shell.ui.full_screen.pages import Page

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.ui.full_screen.app import ShellApp


class Action(NamedTuple):
    """A line for the screen.

    Attributes:
      name: The name of the action, one of :data:`ACTIONS`.
      argument: What stands after it.
    """

    name: str
    argument: str


def action_of(line: str, page: Page | None) -> Action | None:
    """Return the action of a line; None if the line is for the shell.

    Args:
      line: The line.
      page: The page that is shown.
    """
    line = line.strip()
    if line[:1] in ("/", "@"):
        return Action(line[0], line[1:] if line[0] == "/" else line)
    if line in ("n", "N") and page is not None and page.search is not None:
        return Action(line, "")
    name, _, argument = line.partition(" ")
    command = next((one for one in on_screen.COMMANDS if name in (one.name, *one.aliases)), None)
    return None if command is None else Action(command.name, argument.strip())


def _move(step: int) -> Callable[[ShellApp, str], None]:
    def move(app: ShellApp, argument: str) -> None:
        page = app.pages.move(step)
        if page is None:
            app.say(f"There is no screen {'before' if step < 0 else 'after'} this one.")
            return
        app.output.show(page)
        app.draw_bars()

    return move


def _mouse(app: ShellApp, argument: str) -> None:
    if argument not in ("", "on", "off"):
        raise UsageError("Write `mouse on` or `mouse off`.")
    app.take_mouse(argument == "on" if argument else not app.mouse_is_on)


def _element(app: ShellApp, argument: str) -> None:
    page = app.pages.current
    if page is None or page.screen.places is None:
        raise UsageError("This screen shows no array; `pt` does.")
    element = words.parse_element(argument)
    page.marked = page.screen.places.line_of(element)
    app.output.go_to(page.marked)
    app.output.refresh()
    if page.screen.places.is_left_out(element):
        app.say(f"{list(element)} is left out here: `pt -a` shows all elements, a slice shows a part.")


#: What each action does with what stands after its name.
ACTIONS: Final[Mapping[str, Callable[[ShellApp, str], None]]] = {
    "prev": _move(-1),
    "next": _move(1),
    "mouse": _mouse,
    "@": _element,
    "/": searching.search,
    "n": lambda app, argument: searching.again(app, 1),
    "N": lambda app, argument: searching.again(app, -1),
}
