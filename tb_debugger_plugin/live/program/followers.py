"""The debuggers that follow a program, and how long a paused program waits when none is left."""

from __future__ import annotations

from tb_debugger_plugin.live.program.clock import Clock


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

    @property
    def count(self) -> int:
        """How many debuggers there are."""
        return self._count

    def join(self) -> None:
        """Count one more."""
        self._count += 1

    def leave(self) -> None:
        """Count one less."""
        self._count -= 1
        if not self._count:
            self._left_at = self._clock.now()

    @property
    def is_alone(self) -> bool:
        """Whether the program goes on by itself: it stops nowhere, since nobody would let it go on."""
        if self._count or self._when_alone is None:
            return False
        return self._left_at is None or self._clock.now() - self._left_at >= self._when_alone
