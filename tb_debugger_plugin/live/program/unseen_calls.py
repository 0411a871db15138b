"""Calls that pass while nobody looks at calls: they are counted, and nothing else is found out about them.

Takes calls from the hooks, without the lock of the controller. When somebody looks after all, the calls that
still run are taken up, and are calls like all others from then on.

Invariant: once `allowed` is False and `take_up()` has returned, each call that runs either was taken up, or
did not begin here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from tb_debugger_plugin.live.messages.messages import CallCount, Message
from tb_debugger_plugin.live.program.interface import CallKind, ProgramCall

#: Most rows of the table; a program may run a session with ever new fetches.
_MOST: Final = 500


@dataclass
class _Row:
    call: Message
    count: int = 0
    last_number: int = 0


class CountedCalls:
    """The counts. Thread-safe.

    Attributes:
      num_calls: How many calls there were.
    """

    def __init__(self) -> None:
        self.num_calls = 0
        self._lock = threading.Lock()  # guards the counts
        self._rows: dict[tuple[int, str], _Row] = {}

    def knows(self, kind: CallKind, name: str) -> bool:
        """Whether a call has no row of its own to come: its name was called before, or the table is full."""
        return _key(kind, name) in self._rows or len(self._rows) >= _MOST

    def add(self, call: ProgramCall) -> None:
        """Count a call. Its details are found out if its name is new."""
        if not self.knows(call.kind, call.name):
            details = call.details
            row = CallCount(
                name=_key(call.kind, call.name)[1],
                kind=int(call.kind),
                feeds=details.feeds,
                fetches=details.fetches,
                targets=details.targets,
                devices=details.devices,
            )
            self._rows.setdefault(_key(call.kind, call.name), _Row(row))
        self.count(call.kind, call.name, call.number)

    def count(self, kind: CallKind, name: str, number: int) -> None:
        """Count a call whose name is known.

        Args:
          kind: What is called.
          name: Its name.
          number: The number of the call.
        """
        with self._lock:
            self.num_calls += 1
            row = self._rows.get(_key(kind, name))
            if row is not None:
                row.count += 1
                row.last_number = max(row.last_number, number)

    def messages(self) -> list[Message]:
        """Return the rows, in the order of their first calls."""
        with self._lock:
            rows = list(self._rows.values())
            for row in rows:
                row.call.count, row.call.last_number = row.count, row.last_number
        return [row.call for row in rows]


def _key(kind: CallKind, name: str) -> tuple[int, str]:
    # A plain number: the hash of an enum is computed in Python.
    return int(kind), "step" if kind is CallKind.STEP else name


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
