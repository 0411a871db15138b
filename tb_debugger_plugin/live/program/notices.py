"""What the page says once: the last notices, each with a number that rises."""

from __future__ import annotations

from collections import deque
from typing import Final

from tb_debugger_plugin.live.messages.messages import Message, Notice

_MOST: Final = 20


class Notices:
    """The last notices. Not thread-safe: the controller holds its lock."""

    def __init__(self) -> None:
        self._last: deque[Message] = deque(maxlen=_MOST)
        self._number = 0

    def add(self, sentence: str) -> None:
        """Add a notice."""
        self._number += 1
        self._last.append(Notice(number=self._number, sentence=sentence))

    def messages(self) -> list[Message]:
        """Return them, oldest first."""
        return list(self._last)
