"""The screens that were shown, and where each was scrolled to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.shell.screen import Screen
from tb_debugger_plugin.shell.ui.full_screen.made_lines import MadeLines
from tb_debugger_plugin.shell.ui.full_screen.search import Search

#: Screens that are kept, as in tfdbg; each may hold a page of a long list.
MAX_PAGES: Final = 10


@dataclass
class Page:
    """A screen that was shown.

    Attributes:
      screen: The screen.
      line: The command line that it answers.
      lines: Its lines, as they are painted.
      top: The first line in the window.
      left: The first column in the window.
      marked: The line of the element that was looked for; -1 for none.
      search: What was searched for; None if nothing was.
    """

    screen: Screen
    line: str
    lines: MadeLines
    top: int = 0
    left: int = 0
    marked: int = -1
    search: Search | None = None

    @staticmethod
    def of(screen: Screen, line: str) -> Page:
        """Return the page of a screen."""
        return Page(screen, line, MadeLines(screen.lines), top=screen.begin)


class Pages:
    """Pages in the order in which they were shown, and the one that is shown now."""

    def __init__(self) -> None:
        self._pages: list[Page] = []
        self._at = -1

    @property
    def current(self) -> Page | None:
        """The page that is shown; None before the first."""
        return self._pages[self._at] if self._pages else None

    def add(self, page: Page) -> None:
        """Show a page after the current one; pages that were after it are forgotten."""
        self._pages = [*self._pages[: self._at + 1], page][-MAX_PAGES:]
        self._at = len(self._pages) - 1

    def can_move(self, step: int) -> bool:
        """Whether there is a page so many steps away."""
        return 0 <= self._at + step < len(self._pages)

    def move(self, step: int) -> Page | None:
        """Show the page so many steps away; return None if there is none."""
        if not self.can_move(step):
            return None
        self._at += step
        return self.current
