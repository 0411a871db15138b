"""What each key does: a table for the line that is typed, and one for the links of the output.

The prompt has the focus at all times, and does here and at once what a key means. Were keys handled by
several widgets, one that is typed quickly could overtake another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.ui.full_screen.app import ShellApp
from typing import TYPE_CHECKING

from tb_debugger_plugin.shell.completion import complete

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.ui.full_screen.app import ShellApp


def complete_line(app: ShellApp) -> None:
    """Insert what all candidates share; a space after the only one."""
    line, cursor = app.prompt.value, app.prompt.cursor_position
    found = complete(app.shell, line, cursor)
    if not found.total:
        app.say("Nothing is known that begins so.")
        return
    is_only = found.total == 1 and found.is_final and not line[cursor:].startswith(" ")
    begin = line[: found.start] + found.common + " " * is_only
    app.prompt.set_line(begin + line[cursor:], len(begin))
    app.show_candidates(found.candidates if found.total > 1 else (), found.total)


Do: TypeAlias = "Callable[[ShellApp], object]"


def press(app: ShellApp, key: str, letter: str | None) -> bool:
    """Do what a key means.

    Args:
      app: The screen.
      key: The name of the key.
      letter: What it types; None if it types nothing.

    Returns:
      Whether it means something.
    """
    if app.output.has_selected_link:
        do = LINK_KEYS.get(key) or (_SEARCH_KEYS.get(key) if app.is_searching else None)
        if do is not None:
            do(app)
            return True
        app.output.forget_link()
    if letter is not None:
        app.prompt.insert_text_at_cursor(letter)
        return True
    do = KEYS.get(key) if app.prompt.value else EMPTY_LINE_KEYS.get(key, KEYS.get(key))
    if do is not None:
        do(app)
    return do is not None


#: While a link is selected.
LINK_KEYS: Final[Mapping[str, Do]] = {
    "tab": lambda app: app.output.select_link(1),
    "right": lambda app: app.output.select_link(1),
    "shift+tab": lambda app: app.output.select_link(-1),
    "left": lambda app: app.output.select_link(-1),
    "down": lambda app: app.output.select_link(1, by_line=True),
    "up": lambda app: app.output.select_link(-1, by_line=True),
    "enter": lambda app: app.output.choose_link(),
    "escape": lambda app: app.output.forget_link(),
    "home": lambda app: app.output.go_to_end(is_last=False),
    "end": lambda app: app.output.go_to_end(is_last=True),
}
#: The same, after a search.
_SEARCH_KEYS: Final[Mapping[str, Do]] = {
    "n": lambda app: app.jobs.add("n"),
    "N": lambda app: app.jobs.add("N"),
    "upper_n": lambda app: app.jobs.add("N"),
}
#: While the line is empty; other keys are those of :data:`KEYS`.
EMPTY_LINE_KEYS: Final[Mapping[str, Do]] = {
    "tab": lambda app: app.output.select_link(1),
    "shift+tab": lambda app: app.output.select_link(-1),
    "home": lambda app: app.output.go_to_end(is_last=False),
    "end": lambda app: app.output.go_to_end(is_last=True),
    "ctrl+left": lambda app: app.run_line("prev"),
    "ctrl+right": lambda app: app.run_line("next"),
    "shift+left": lambda app: app.output.move_columns(-1),
    "shift+right": lambda app: app.output.move_columns(1),
    "ctrl+d": lambda app: app.detach(),
}
KEYS: Final[Mapping[str, Do]] = {
    "enter": lambda app: app.submit(),
    "tab": lambda app: app.guard(lambda: complete_line(app)),
    "up": lambda app: app.prompt.recall(1),
    "down": lambda app: app.prompt.recall(-1),
    "pageup": lambda app: app.output.move_pages(-1),
    "pagedown": lambda app: app.output.move_pages(1),
    "ctrl+up": lambda app: app.output.move_rows(-1),
    "ctrl+down": lambda app: app.output.move_rows(1),
    "ctrl+home": lambda app: app.output.go_to_end(is_last=False),
    "ctrl+end": lambda app: app.output.go_to_end(is_last=True),
    "alt+left": lambda app: app.run_line("prev"),
    "alt+right": lambda app: app.run_line("next"),
    "f1": lambda app: app.jobs.add("help"),
    "f3": lambda app: app.jobs.add("/"),
    "shift+f3": lambda app: app.jobs.add("N"),
    "escape": lambda app: app.forget_marks(),
    "ctrl+c": lambda app: app.interrupt(),
    "ctrl+l": lambda app: app.draw_all(),
    "ctrl+q": lambda app: app.leave(),
    "ctrl+z": lambda app: app.action_suspend_process(),
    # Inside the line.
    "backspace": lambda app: app.prompt.action_delete_left(),
    "delete": lambda app: app.prompt.action_delete_right(),
    "ctrl+d": lambda app: app.prompt.action_delete_right(),
    "ctrl+h": lambda app: app.prompt.action_delete_left(),
    "left": lambda app: app.prompt.action_cursor_left(),
    "right": lambda app: app.prompt.action_cursor_right(),
    "ctrl+b": lambda app: app.prompt.action_cursor_left(),
    "ctrl+f": lambda app: app.prompt.action_cursor_right(),
    "ctrl+left": lambda app: app.prompt.action_cursor_left_word(),
    "ctrl+right": lambda app: app.prompt.action_cursor_right_word(),
    "home": lambda app: app.prompt.action_home(),
    "ctrl+a": lambda app: app.prompt.action_home(),
    "end": lambda app: app.prompt.action_end(),
    "ctrl+e": lambda app: app.prompt.action_end(),
    "ctrl+w": lambda app: app.prompt.action_delete_left_word(),
    "ctrl+u": lambda app: app.prompt.action_delete_left_all(),
    "ctrl+k": lambda app: app.prompt.action_delete_right_all(),
}
