"""The input line: what is typed, with the lines that were typed before."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.widgets import Input

from tb_debugger_plugin.shell.ui.history import History, Recall


class Prompt(Input):
    """The input line.

    Args:
      history: The lines that were typed before.
      press: Does what a key means, by its name and by what it types; returns whether it means something.
    """

    def __init__(self, history: History, press: Callable[[str, str | None], bool]) -> None:
        super().__init__(select_on_focus=False)
        self._recall = Recall(history)
        self._press = press
        self.cursor_blink = False

    def on_key(self, event: events.Key) -> None:
        """Do what a key means."""
        if self._press(event.key, event.character if event.is_printable else None):
            event.stop()
            event.prevent_default()

    def set_line(self, line: str, cursor: int | None = None) -> None:
        """Replace what is typed.

        Args:
          line: What stands there instead.
          cursor: The number of letters before the cursor; None for the end.
        """
        self.value = line
        self.cursor_position = len(line) if cursor is None else cursor

    def take_line(self) -> str:
        """Return what is typed, and clear it."""
        line = self.value
        self.set_line("")
        self._recall.forget()
        return line

    def recall(self, step: int) -> None:
        """Show the next older line, or the next newer one for -1."""
        self.set_line(self._recall.older(self.value) if step > 0 else self._recall.newer(self.value))
