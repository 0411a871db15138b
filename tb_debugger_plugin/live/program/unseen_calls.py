"""Calls that pass while nobody looks at calls: they are counted, and nothing else is found out about them.

Takes calls from the hooks, without the lock of the controller. When somebody looks after all, the calls that
still run are taken up, and are calls like all others from then on.

Invariant: once `allowed` is False and `take_up()` has returned, each call that runs either was taken up, or
did not begin here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeAlias

from tb_debugger_plugin.live.program.counted_calls import CountedCalls
from tb_debugger_plugin.live.program.interface import CallKind, ProgramCall

#: Makes a call, of which nothing is known yet.
MakeCall: TypeAlias = Callable[[], ProgramCall]


class UnseenCalls:
    """The calls of one program that pass unseen. Thread-safe.

    Args:
      counted: Counts the calls.

    Attributes:
      allowed: Whether calls may pass unseen from now on. The controller sets it.
    """

    def __init__(self, counted: CountedCalls) -> None:
        self.allowed = False
        self._counted = counted
        # The order of `begin` and `take_up` makes a lock needless: each changes this before it looks.
        self._running: dict[int, MakeCall] = {}
        self._lock = threading.Lock()  # guards _taken
        self._taken: dict[int, ProgramCall] = {}

    def begin(self, number: int, kind: CallKind, name: str, make: MakeCall) -> bool:
        """Let a call pass that is about to run, if nobody looks; return whether it passes.

        Args:
          number: Its number.
          kind: What is called.
          name: Its name. A call whose name is new is not let pass.
          make: Makes the call, as long as it runs.
        """
        if not self.allowed or not self._counted.knows(kind, name):
            return False
        self._running[number] = make
        if not self.allowed and self._running.pop(number, None) is not None:
            return False  # somebody has begun to look meanwhile
        self._counted.count(kind, name, number)
        return True

    def end(self, number: int) -> ProgramCall | None:
        """End a call that passed unseen; return it if it was taken up meanwhile."""
        if self._running.pop(number, None) is not None:
            return None
        with self._lock:
            return self._taken.pop(number, None)

    def take_up(self) -> list[ProgramCall]:
        """Return the calls that have passed unseen and still run, each of them once."""
        taken = []
        with self._lock:
            for number in sorted(self._running.copy()):
                make = self._running.pop(number, None)
                if make is not None:
                    self._taken[number] = make()
                    taken.append(self._taken[number])
        return taken
