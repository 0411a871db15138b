"""Completes the line that is typed, and shows what else it may become."""

from __future__ import annotations

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
