"""Searches the page that is shown, in a thread, and scrolls to what is found."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

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
