"""Counts the calls of a program by what was called: the table of runs and calls."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

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
