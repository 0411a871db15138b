"""Counts the calls of a program by what was called: the table of runs and calls."""

from __future__ import annotations

from typing import Final

from tb_debugger_plugin.live.messages.messages import CallCount, Message
from tb_debugger_plugin.live.program.interface import CallKind, ProgramCall

#: Most rows of the table; a program may run a session with ever new fetches.
_MOST: Final = 500


class CountedCalls:
    """The counts. Not thread-safe: the controller holds its lock."""

    def __init__(self) -> None:
        self._rows: dict[tuple[CallKind, str], Message] = {}

    def is_new(self, call: ProgramCall) -> bool:
        """Whether nothing of its name was called before."""
        return _key(call) not in self._rows

    def add(self, call: ProgramCall) -> None:
        """Count a call."""
        row = self._rows.get(_key(call))
        if row is None:
            if len(self._rows) >= _MOST:
                return
            row = self._rows[_key(call)] = CallCount(
                name=_key(call)[1],
                kind=int(call.kind),
                feeds=call.details.feeds,
                fetches=call.details.fetches,
                targets=call.details.targets,
                devices=call.details.devices,
            )
        row.count += 1
        row.last_number = call.number

    def messages(self) -> list[Message]:
        """Returns the rows, in the order of their first calls."""
        return list(self._rows.values())


def _key(call: ProgramCall) -> tuple[CallKind, str]:
    return call.kind, "step" if call.kind is CallKind.STEP else call.name
