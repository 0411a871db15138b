"""Gives the results of the native gate their names.

Takes the `Gate` of the native library, whose methods return plain tuples, and is the `Gate` of
`capture/gate.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tb_debugger_plugin.capture.gate import NO_CALL, CannotChange, Elements, GateCounts, Hit, Passed
from tb_debugger_plugin.native.arguments import GateRule


class NativeGate:
    """The gate of a recording. Thread-safe; see `Gate`.

    Args:
      native: `Recorder.gate` of the native library.
    """

    def __init__(self, native: Any) -> None:
        self._native = native
        self.stop_at_next = native.stop_at_next
        self.let_all_pass = native.let_all_pass
        self.close = native.close
        self.hold_values = native.hold_values
        self.begin_run = native.begin_run
        self.end_run = native.end_run
        self.replace = native.replace

    def set_rules(self, rules: Sequence[GateRule]) -> None:
        """Replace all rules."""
        self._native.set_rules(tuple(rules))

    def wait(self, timeout: float) -> Hit | None:
        """Wait for a hit that no earlier call has returned."""
        return _hit(self._native.wait(timeout))

    def release(self, hit_number: int) -> bool:
        """Let the thread of a hit go on; False if it is not held."""
        return bool(self._native.release(hit_number))

    def forget_values(self, calls: Sequence[int] = ()) -> None:
        """Forget what passed so far, except for the tensors of calls that go on."""
        self._native.forget_values(tuple(calls))

    def tensors(self, after: int = 0, limit: int = 1000, call: int = NO_CALL) -> list[Passed]:
        """Return what passed with a number above `after`, oldest first."""
        return [Passed(*fields) for fields in self._native.tensors(after, limit, call)]

    def elements(self, number: int) -> Elements | None:
        """Return the elements of a tensor that passed; None if they are not held."""
        elements: Elements | None = self._native.elements(number)
        return elements

    def counts(self, call: int = NO_CALL) -> GateCounts:
        """Return the counts now."""
        return GateCounts(*self._native.counts(call))

    @property
    def hit(self) -> Hit | None:
        """The hit at which a thread is held."""
        return _hit(self._native.hit)

    @property
    def held_calls(self) -> tuple[int, ...]:
        """The call of each thread that waits because another thread is held."""
        calls: tuple[int, ...] = self._native.held_calls
        return calls


def _hit(fields: Any) -> Hit | None:
    if fields is None:
        return None
    number, rule, tensor, cannot_change, *more = fields
    return Hit(number, rule, Passed(*tensor), CannotChange(cannot_change), *more)
