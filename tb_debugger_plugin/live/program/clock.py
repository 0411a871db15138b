"""The time, as something that a test can set."""

from __future__ import annotations

import time


class Clock:
    """The time of the machine."""

    def now(self) -> float:
        """Return seconds since some moment; they never go back."""
        return time.monotonic()

    def wall(self) -> float:
        """Return seconds since the epoch."""
        return time.time()
