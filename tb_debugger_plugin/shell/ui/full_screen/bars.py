"""The lines around the output: title, menu, candidates and status."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style as RichStyle
from textual import events
from textual.strip import Strip
from textual.widget import Widget

from tb_debugger_plugin.shell.screen import Line, Part, Style
from tb_debugger_plugin.shell.ui.full_screen.output import Chosen
from tb_debugger_plugin.shell.ui.full_screen.strips import PART, strip_of


class Bar(Widget):
    """A few lines of parts; a click on a part with a command posts :class:`~.output.Chosen`."""

    ALLOW_SELECT = False

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._lines: Sequence[Line] = ()
        self._base = RichStyle()

    def set_lines(self, lines: Sequence[Line], base: RichStyle | None = None) -> None:
        """Show other lines.

        Args:
          lines: The lines, whose texts are escaped.
          base: The style of the whole bar.
        """
        self._lines, self._base = lines, base or RichStyle()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return a line."""
        base = self.rich_style + self._base
        if y >= len(self._lines):
            return Strip.blank(self.size.width, base)
        return strip_of(self._lines[y], base=base).crop_extend(0, self.size.width, base)

    def on_click(self, event: events.Click) -> None:
        """Choose what is under the mouse."""
        part = event.style.meta.get(PART)
        if part is not None and event.y < len(self._lines):
            command = self._lines[event.y][part].command
            if command is not None:
                self.post_message(Chosen(command))


def in_columns(words: Sequence[str], width: int, height: int, total: int) -> list[Line]:
    """Return words in columns, and at the end how many more there are.

    Args:
      words: The words, escaped.
      width: The width of the window.
      height: The largest number of lines.
      total: The number of words there are in all.
    """
    column = min(width, max((len(word) for word in words), default=0) + 2)
    columns = max(1, width // max(1, column))
    lines: list[Line] = []
    shown = words if len(words) == total and total <= columns * height else words[: columns * height - 1]
    for begin in range(0, len(shown), columns):
        row = shown[begin : begin + columns]
        lines.append(tuple(Part(word[: column - 1].ljust(column), Style.MUTED) for word in row))
    if total > len(shown):
        more = Part(f"and {total - len(shown):,} more", Style.MUTED)
        lines = [*lines[:-1], (*(lines[-1] if lines else ()), more)]
    return lines


def fitting(parts: Sequence[str], width: int, separator: str = " | ") -> str:
    """Return as many texts, side by side, as a window has room for; the first one is always there."""
    first, *others = [part for part in parts if part] or [""]
    text = first if len(first) <= width else first[: max(0, width - 1)] + "…"
    for part in others:
        longer = f"{text}{separator}{part}"
        text = longer if len(longer) <= width else text
    return text
