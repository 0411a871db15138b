"""Something that takes a while, in a thread of its own, so that the screen stays alive."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Job:
    """Work in a thread. A thread cannot be ended, but what comes of it can be left aside.

    Args:
      line: What it is, for the status line.

    Attributes:
      line: As given.
      is_dropped: Whether nobody waits for it any more. Long work looks at this.
      share: How much of it is done, from 0 to 1; None if it does not say.
    """

    def __init__(self, line: str) -> None:
        self.line = line
        self.is_dropped = False
        self.share: float | None = None
        self._begin = time.monotonic()

    def start(self, work: Callable[[], object]) -> None:
        """Do the work."""
        # A daemon: leaving does not wait for it.
        threading.Thread(target=work, name="tbdbg-command", daemon=True).start()

    def __str__(self) -> str:
        """Returns what it is and how far it is."""
        done = "" if self.share is None else f", {self.share:.0%}"
        return f"… {self.line} ({time.monotonic() - self._begin:.0f} s{done})"
