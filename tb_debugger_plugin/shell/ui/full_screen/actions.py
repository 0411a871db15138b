"""What the full screen does with itself: the lines that it takes before the shell does.

The rows of `shell.commands.on_screen` describe the same lines for `help`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.shell import words
from tb_debugger_plugin.shell.commands import on_screen
from tb_debugger_plugin.shell.ui.full_screen.jobs import Job
from tb_debugger_plugin.shell.ui.full_screen.pages import Page
from tb_debugger_plugin.shell.ui.full_screen.search import Search, compiled, found

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.ui.full_screen.app import ShellApp


def search(app: ShellApp, text: str) -> None:
    """Search for a regular expression from the first line in the window on; an empty one searches on.

    Args:
      app: The screen.
      text: The regular expression.

    Raises:
      UsageError: It is none.
    """
    page = app.pages.current
    if page is None:
        return
    if not text:
        again(app, 1)
        return
    page.search = Search(compiled(text))
    _start(app, page, page.search.pattern, page.top, 1)


def again(app: ShellApp, step: int) -> None:
    """Search for the same again.

    Args:
      app: The screen.
      step: 1 to search forwards, -1 to search backwards.
    """
    page = app.pages.current
    if page is None or page.search is None:
        app.say("Nothing was searched for: write /REGEX.")
        return
    known = page.search.line
    begin = page.top if known < 0 else known + step
    _start(app, page, page.search.pattern, begin, step)


def _start(app: ShellApp, page: Page, pattern: re.Pattern[str], begin: int, step: int) -> None:
    def work(job: Job) -> int | None:
        for progress in found(page.lines, pattern, begin, step):
            job.share = progress.done / len(page.lines)
            if progress.line is not None or job.is_dropped:
                return progress.line
        return None

    def show(line: int | None) -> None:
        if line is None:
            page.search = None
            app.say(f"Pattern not found: /{pattern.pattern}")
        else:
            page.search = Search(pattern, line)
            app.output.show_line(line)
        app.output.refresh()

    app.jobs.start(f"/{pattern.pattern}", work, show)


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
    "/": search,
    "n": lambda app, argument: again(app, 1),
    "N": lambda app, argument: again(app, -1),
}
