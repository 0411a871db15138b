"""The widget that shows a page: it asks for the lines in the window, and for no others."""

from __future__ import annotations

from typing import Final

from rich.cells import cell_len
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tb_debugger_plugin.shell.ui.full_screen.pages import Page
from tb_debugger_plugin.shell.ui.full_screen.strips import PART, Marks, strip_of

#: Lines beyond the window in which a key looks for the next link.
_REACH: Final = 200


class Chosen(Message):
    """A link was clicked, or chosen with Enter.

    Args:
      line: The command line that it stands for.
    """

    def __init__(self, line: str) -> None:
        super().__init__()
        self.line = line


class Moved(Message):
    """Another part of the page is in the window."""


class Output(ScrollView):
    """Shows a page, and marks the link that the keys have selected."""

    # The prompt has the focus.
    can_focus = False
    ALLOW_SELECT = False

    def __init__(self) -> None:
        super().__init__()
        self.page: Page | None = None
        self._selected: tuple[int, int] | None = None
        # The width of lines that were never in the window is not known.
        self._widest = 0

    # What is shown.

    def show(self, page: Page) -> None:
        """Show a page where it was scrolled to."""
        self.page, self._selected, self._widest = page, None, 0
        top, left = page.top, page.left
        self.virtual_size = Size(1, len(page.lines))
        self.go_to(top)
        page.left = left
        self.refresh()

    def go_to(self, line: int) -> None:
        """Scroll so that a line comes first, or as far as there are lines."""
        self.scroll_to(y=max(0, line), animate=False, force=True)

    def go_to_column(self, column: int) -> None:
        """Scroll sideways so that a column comes first, or as far as the lines that were shown go."""
        if self.page is not None:
            self.page.left = max(0, min(column, self._widest - self.window.width))
            self.refresh()

    @property
    def window(self) -> Size:
        """The size of the window, without the scroll bar."""
        return self.scrollable_content_region.size

    def show_line(self, line: int) -> None:
        """Scroll as far as needed to see a line, and then some lines before it too."""
        height = max(1, self.window.height)
        if not self.scroll_offset.y <= line < self.scroll_offset.y + height:
            self.go_to(line - height // 3)

    def go_to_end(self, *, is_last: bool) -> None:
        """Scroll to the first line or to the last."""
        self.go_to(len(self.page.lines) if is_last and self.page is not None else 0)

    def move_rows(self, step: int) -> None:
        """Scroll some lines."""
        self.go_to(round(self.scroll_y) + step)

    def move_pages(self, step: int) -> None:
        """Scroll windows, each less a line."""
        self.move_rows(step * max(1, self.window.height - 1))

    def move_columns(self, step: int) -> None:
        """Scroll sideways by half windows."""
        if self.page is not None:
            self.go_to_column(self.page.left + step * max(1, self.window.width // 2))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Remember where the page is scrolled to."""
        super().watch_scroll_y(old_value, new_value)
        if self.page is not None:
            self.page.top = round(new_value)
        self.post_message(Moved())

    def render_line(self, y: int) -> Strip:
        """Return a line of the window."""
        number, width = y + self.scroll_offset.y, self.window.width
        base = self.rich_style
        if self.page is None or number >= len(self.page.lines):
            return Strip.blank(width, base)
        strip = strip_of(self.page.lines[number], self._marks(number), base)
        self._widest = max(self._widest, strip.cell_length)
        return strip.crop_extend(self.page.left, self.page.left + width, base)

    def _marks(self, number: int) -> Marks:
        page, selected = self.page, self._selected
        if page is None:
            return Marks()
        return Marks(
            page.search.pattern if page.search is not None else None,
            selected[1] if selected is not None and selected[0] == number else -1,
            page.marked == number,
        )

    # Links.

    def on_click(self, event: events.Click) -> None:
        """Choose the link under the mouse."""
        part = event.style.meta.get(PART)
        if self.page is not None and part is not None:
            self._choose(event.y + self.scroll_offset.y, part)

    def _choose(self, number: int, part: int) -> None:
        if self.page is None or number >= len(self.page.lines):
            return
        command = self.page.lines[number][part].command
        if command is not None:
            self.post_message(Chosen(command))

    @property
    def has_selected_link(self) -> bool:
        """Whether the keys have selected a link."""
        return self._selected is not None

    def choose_link(self) -> None:
        """Choose the link that the keys have selected."""
        if self._selected is not None:
            self._choose(*self._selected)

    def forget_link(self) -> None:
        """Select no link."""
        self._selected = None
        self.refresh()

    def select_link(self, step: int, *, by_line: bool = False) -> None:
        """Select the next link; without one near, scroll a window.

        Args:
          step: 1 for the next one, -1 for the one before.
          by_line: Whether it is on another line.
        """
        link = self._next_link(step, by_line)
        if link is None:
            self.move_pages(step)
            return
        self._selected = link
        self.show_line(link[0])
        self._show_part(*link)
        self.refresh()

    def _show_part(self, number: int, part: int) -> None:
        """Scroll sideways as far as needed to see where a part begins."""
        if self.page is None:
            return
        line = self.page.lines[number]
        column = cell_len("".join(one.text for one in line[:part]))
        if not self.page.left <= column < self.page.left + self.window.width:
            self._widest = max(self._widest, column + self.window.width)
            self.go_to_column(column)

    def _next_link(self, step: int, by_line: bool) -> tuple[int, int] | None:
        page, at = self.page, self._selected
        if page is None:
            return None
        top, height = self.scroll_offset.y, max(1, self.window.height)
        if at is None or not top <= at[0] < top + height:
            at, by_line = (top - 1 if step > 0 else min(top + height, len(page.lines)), 0), True
        number, last = at[0], at[0] + step * (height + _REACH)
        while 0 <= number < len(page.lines) or number == at[0]:
            links = self._links(number)
            if number == at[0]:
                links = [] if by_line else [one for one in links if (one - at[1]) * step > 0]
            if links:
                return number, links[0] if step > 0 or by_line else links[-1]
            if number == last:
                break
            number += step
        return None

    def _links(self, number: int) -> list[int]:
        if self.page is None or not 0 <= number < len(self.page.lines):
            return []
        return [at for at, part in enumerate(self.page.lines[number]) if part.command is not None]
