"""The debuggers that follow a program, and how long it waits when there is none, or none is left."""

from __future__ import annotations

import enum
import time
from typing import Final


class Clock:
    """The time of the machine. A test sets its own."""

    def now(self) -> float:
        """Return seconds since some moment; they never go back."""
        return time.monotonic()

    def wall(self) -> float:
        """Return seconds since the epoch."""
        return time.time()


class Followers:
    """Counts debuggers. Not thread-safe: the controller holds its lock.

    Args:
      when_alone: Seconds that the program waits for a debugger to come back; None: for ever.
      clock: The time.
    """

    def __init__(self, when_alone: float | None, clock: Clock) -> None:
        self._when_alone = when_alone
        self._clock = clock
        self._count = 0
        self._left_at: float | None = None
        self._keep_s = 0.0

    @property
    def count(self) -> int:
        """How many debuggers there are."""
        return self._count

    def join(self) -> None:
        """Count one more."""
        self._count += 1

    def leave(self, keep_s: float = 0.0) -> None:
        """Count one less.

        Args:
          keep_s: Seconds that the program waits at least, if it was the last one.
        """
        self._count -= 1
        if not self._count:
            self._left_at, self._keep_s = self._clock.now(), keep_s

    @property
    def is_alone(self) -> bool:
        """Whether the program goes on by itself: it stops nowhere, since nobody would let it go on."""
        if self._count or self._when_alone is None:
            return False
        patience = max(self._when_alone, self._keep_s)
        return self._left_at is None or self._clock.now() - self._left_at >= patience


#: Seconds after which a program that waits says so again.
_REMIND_S: Final = 60.0


class Waits(enum.Enum):
    """What is to be told of a program that waits for its first debugger."""

    STILL = "still"
    OVER = "over"


class Waiting:
    """How long a program has waited for its first debugger. Not thread-safe, as `Followers`.

    Args:
      most_s: Seconds that it waits at most; None: for ever.
      clock: The time.
    """

    def __init__(self, most_s: float | None, clock: Clock) -> None:
        self._most_s = most_s
        self._clock = clock
        self._since: float | None = None
        self._told_at = 0.0

    def look(self, *, is_waiting: bool) -> Waits | None:
        """Look at the time; return what is to be told now, or None.

        Args:
          is_waiting: Whether the program waits and no debugger is there.
        """
        now = self._clock.now()
        if not is_waiting:
            self._since = None
            return None
        if self._since is None:
            self._since = self._told_at = now
        if self._most_s is not None and now - self._since >= self._most_s:
            self._since = None
            return Waits.OVER
        if now - self._told_at < _REMIND_S:
            return None
        self._told_at = now
        return Waits.STILL
