"""The screens that were shown, and where each was scrolled to."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.errors import user_message
from tb_debugger_plugin.events.printable import printable
from tb_debugger_plugin.shell.screen import Line, Part, Screen, Style
from tb_debugger_plugin.shell.ui.full_screen.search import Search

# The lines of a screen as they are painted: escaped, kept for a while, and made by one thread at a time.
#
# A line of a long list is read from tables when it is asked for. One that cannot be made, such as a line of a
# run that was closed, becomes a line that says so: painting never fails.

#: Lines that are kept: some windows full.
_KEPT: Final = 2000
#: Letters of a line that are painted; a line may be as long as a recorded text.
_MAX_LETTERS: Final = 10_000


class MadeLines:
    """The lines of a screen.

    Args:
      lines: The lines, with texts as they are on record.
    """

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self._lock = threading.Lock()  # guards the two below, and the making of lines
        self._made: OrderedDict[int, Line] = OrderedDict()
        self._count = len(lines)

    def __len__(self) -> int:
        """Return the number of lines."""
        return self._count

    def __getitem__(self, number: int) -> Line:
        """Return a line that can be painted."""
        with self._lock:
            line = self._made.get(number)
            if line is None:
                line = self._made[number] = _made(self._lines, number)
                if len(self._made) > _KEPT:
                    self._made.popitem(last=False)
            return line

    def texts(self, begin: int, end: int) -> list[str]:
        """Return the texts of some lines, without keeping them."""
        with self._lock:
            return ["".join(part.text for part in _made(self._lines, one)) for one in range(begin, end)]


def _made(lines: Sequence[Line], number: int) -> Line:
    try:
        line = lines[number]
    except Exception as error:  # whatever a recording does, the screen stays
        return (Part(f"(this line cannot be read: {printable(user_message(error))})", Style.ERROR),)
    left, parts = _MAX_LETTERS, []
    for part in line:
        text = part.text[:left]
        parts.append(part._replace(text=printable(text)))
        left -= len(text)
        if left <= 0:
            return (*parts, Part("…", Style.MUTED))
    return tuple(parts)


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
