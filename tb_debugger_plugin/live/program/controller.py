"""Steers a program: what debuggers ask and command, on top of what stops it.

Takes commands, and returns the state of the program, the tensors of the current call, and their elements.

Invariant: the version of the state rises with each change; counts alone raise it a few times a second.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Final

from tb_debugger_plugin.live.messages.messages import Evaluation, Message, State, TensorList
from tb_debugger_plugin.live.program.arrays import parts_of
from tb_debugger_plugin.live.program.commands import Commands
from tb_debugger_plugin.live.program.evaluate import Results
from tb_debugger_plugin.live.program.stops import Stops

_log = logging.getLogger("tb_debugger_plugin")
#: Most tensors in one list, and in a list without a limit.
_MOST_LISTED: Final = 10_000
_LISTED: Final = 1000


class Controller(Stops):
    """Stops and steers one program: see `interface.Controller`."""

    def state(self) -> Message:
        """Return the state now."""
        with self._lock:
            return self._status.message()

    def follow(self, version: int, timeout: float) -> Message:
        """Return the first state with a higher version, or the present one after some seconds."""
        with self._lock:
            self._lock.wait_for(lambda: self._status.version > version, timeout)
            return self._status.message()

    @contextlib.contextmanager
    def connected(self, follower: str, keep_s: float = 0.0) -> Iterator[None]:
        """Count a debugger as connected inside a block.

        Args:
          follower: What it is, for the log.
          keep_s: Seconds that a paused program waits at least when it leaves as the last one.
        """
        status = self._status
        with self._lock:
            status.followers.join()
            _log.info("%s follows the program.", follower[:100])
            if status.phase == State.WAITING:
                status.phase = int(State.PAUSED)
            status.wants_a_call = True
            status.apply()
            status.news()
        try:
            yield
        finally:
            with self._lock:
                status.followers.leave(keep_s)
                if status.phase == State.PAUSED and not status.has_begun and not status.followers.count:
                    status.phase = int(State.WAITING)
                status.news()

    def control(self, command: Message) -> Message:
        """Obey a command."""
        with self._lock:
            outcome = self._commands.obey(command)
            outcome.state.CopyFrom(self._status.message())
        if outcome.done:
            self._commands.finish(command)
        return outcome

    def list_tensors(self, after: int, limit: int) -> Message:
        """Return tensors of the current call."""
        most = min(limit if limit > 0 else _LISTED, _MOST_LISTED)
        tensors = self._status.tensors
        with self._lock:
            messages, total = tensors.listed(after, most)
            return TensorList(call=tensors.call, tensors=messages, total=total)

    def elements(self, tensor: int, begin: int, end: int) -> Iterator[bytes]:
        """Yield a range of the elements of a tensor, in parts of at most 1 MiB."""
        value = self._results.value(tensor)
        yield from parts_of(value.array, begin, end)

    def evaluate(self, text: str) -> Message:
        """Return the result of an expression over the held tensors."""
        with self._lock:
            if self._status.is_off:
                return Evaluation(text="The program was detached, or has ended: no tensors can be read.")
            paused_at = self._status.paused_at
        return self._results.evaluate(text, paused_at)

    def _prepare(self) -> None:
        self._results = Results(self._status.tensors, self._lock)
        self._commands = Commands(self._status, self._pauses, self._results)
