"""The input line: what is typed, with the lines that were typed before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

from tb_debugger_plugin.shell.ui.history import History, Recall

#: Keys that move inside the line, and how.
_INSIDE: Final[Mapping[str, Callable[[Input], None]]] = {
    "home": lambda line: line.action_home(),
    "end": lambda line: line.action_end(),
    "ctrl+left": lambda line: line.action_cursor_left_word(),
    "ctrl+right": lambda line: line.action_cursor_right_word(),
    "shift+left": lambda line: line.action_cursor_left(True),
    "shift+right": lambda line: line.action_cursor_right(True),
}


class Tabbed(Message):
    """Tab was pressed.

    Args:
      step: 1, or -1 with Shift.
    """

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step


class EmptyLineKey(Message):
    """A key that moves inside the line was pressed, but the line is empty.

    Args:
      key: The key.
    """

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key


class Prompt(Input):
    """The input line.

    Args:
      history: The lines that were typed before.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "tab(1)", show=False),
        Binding("shift+tab", "tab(-1)", show=False),
        Binding("up", "recall(1)", show=False),
        Binding("down", "recall(-1)", show=False),
        *(Binding(key, f"inside('{key}')", show=False) for key in _INSIDE),
    ]

    def __init__(self, history: History) -> None:
        super().__init__(select_on_focus=False)
        self._recall = Recall(history)

    def set_line(self, line: str, cursor: int | None = None) -> None:
        """Replace what is typed."""
        self.value = line
        self.cursor_position = len(line) if cursor is None else cursor

    def action_tab(self, step: int) -> None:
        """Complete, or go to the links."""
        self.post_message(Tabbed(step))

    def action_recall(self, step: int) -> None:
        """Show the next older line, or the next newer one."""
        self.set_line(self._recall.older(self.value) if step > 0 else self._recall.newer(self.value))

    def action_inside(self, key: str) -> None:
        """Move inside the line, or say that it is empty."""
        if self.value:
            _INSIDE[key](self)
        else:
            self.post_message(EmptyLineKey(key))
