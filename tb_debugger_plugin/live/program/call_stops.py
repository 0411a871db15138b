"""Stops a program before and after its calls, and knows which calls run.

Takes calls from the hooks. Between calls it forgets the tensors of the last one, and gives tensors at which
breakpoints are set watch ops of their own.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from tb_debugger_plugin.capture.gate import TensorOfGraph
from tb_debugger_plugin.errors import user_message
from tb_debugger_plugin.live.messages.messages import Pause
from tb_debugger_plugin.live.program.aims import Why
from tb_debugger_plugin.live.program.interface import ProgramCall
from tb_debugger_plugin.live.program.pauses import Pauses
from tb_debugger_plugin.live.program.sentences import after_call, before_call
from tb_debugger_plugin.live.program.status import Status, Stop

_log = logging.getLogger("tb_debugger_plugin")
#: Errors that end loops or programs, and are no mistakes.
_ORDINARY: Final = ("StopIteration", "StopAsyncIteration", "OutOfRangeError")


class CallStops:
    """Stops one program at its calls.

    Args:
      status: The status of the program.
      pauses: Its pauses.
    """

    def __init__(self, status: Status, pauses: Pauses) -> None:
        self._status = status
        self._pauses = pauses
        self._open: set[int] = set()
        self._isolated: frozenset[int] = frozenset()

    def before(self, call: ProgramCall) -> None:
        """Take a call that a thread is about to make; may block."""
        status = self._status
        self._pauses.end_if_told()
        if status.is_off:
            self.restore_watch_ops()
            return
        if status.counted.is_new(call):
            call.details  # noqa: B018 - found out here, without the lock, in the thread of the call
        message = call.message() if status.followers.count or not status.has_begun else None
        with status.lock:
            self._pauses.wait()
            if status.is_off:
                return
            why = self._why_before(call)
            if why is not None or not self._open:
                status.call, status.call_message, status.is_over = call, message, False
            status.counted.add(call)
            status.has_news = True
            if why is not None:
                self._pauses.begin(why, Stop(), sentence=before_call(call, why.text))
            else:
                wanted = self._begin(call)
        if why is not None:
            self._pauses.stay()
            with status.lock:
                wanted = self._begin(call)
        self._isolate(wanted)

    def after(self, call: ProgramCall, error: BaseException | None) -> None:
        """Take a call that has ended in the thread that made it; may block."""
        status = self._status
        with status.lock:
            self._open.discard(call.number)
            if status.call is call:
                status.is_over = True
            status.has_news = True
            why = None
            if not status.is_off:
                status.follow_graphs()
                self._pauses.wait()
                why = self._why_after(error)
                if why is not None:
                    self._pauses.begin(why, Stop(), sentence=after_call(call, why.text))
        if why is not None:
            self._pauses.stay()
        if error is None:
            self._pauses.end_if_told()

    def _why_before(self, call: ProgramCall) -> Why | None:
        status = self._status
        if not status.may_stop:
            return None
        why = status.aims.why_call(call.name)
        if why is None and not status.has_begun:
            return Why(int(Pause.BEFORE_CALL))
        return why

    def _why_after(self, error: BaseException | None) -> Why | None:
        if not self._status.may_stop:
            return None
        is_mistake = isinstance(error, Exception) and type(error).__name__ not in _ORDINARY
        if error is not None and is_mistake:
            return Why(int(Pause.ERROR), f"{type(error).__name__}: {_first_line(error)}")
        return self._status.aims.why_after_call()

    def _begin(self, call: ProgramCall) -> frozenset[int] | None:
        """Note that a call runs from now on; returns what should be isolated, if that is new.

        The caller holds the lock.
        """
        status = self._status
        is_only = not self._open
        if status.is_off:
            return self._no_longer_isolated()
        self._open.add(call.number)
        status.tensors.call = call.number
        if status.is_noting:
            status.follow_graphs()
            status.is_noting = status.aims.is_noting
            if is_only:
                status.tensors.begin_call()
        wanted = status.aims.isolated() if status.may_stop else frozenset()
        if not is_only or wanted == self._isolated:
            return None
        self._isolated = wanted
        return wanted

    # Watch ops of their own.

    def isolate_new(self, tensors: Sequence[TensorOfGraph]) -> None:
        """Give wanted tensors of a new function watch ops of their own, where nothing else stops at them.

        The caller has no lock.
        """
        unrecorded = frozenset(one.tensor_id for one in tensors if not one.is_recorded)
        status = self._status
        with status.lock:
            if not unrecorded or not status.may_stop:
                return
            new = (unrecorded & status.aims.isolated()) - self._isolated
            self._isolated |= new
            wanted = self._isolated if new else None
        self._isolate(wanted)

    def restore_watch_ops(self) -> None:
        """Give no tensor watch ops of its own any more, unless a call runs. The caller has no lock."""
        self._isolate(self._no_longer_isolated())

    def _no_longer_isolated(self) -> frozenset[int] | None:
        """Nothing, if tensors have watch ops of their own and no call runs."""
        with self._status.lock:
            if not self._isolated or self._open:
                return None
            self._isolated = frozenset()
            return self._isolated

    def _isolate(self, wanted: frozenset[int] | None) -> None:
        """Give tensors watch ops of their own, or do nothing if it is None. The caller has no lock."""
        status = self._status
        isolate = getattr(status.program.recording, "isolate", None)
        if isolate is None or wanted is None:
            return
        try:
            isolate(wanted)
        except Exception as error:  # stops are then where they were
            _log.debug("Tensors cannot get watch ops of their own:", exc_info=error)
            with status.lock:
                status.notices.add(f"Breakpoints stop after ops that run in parallel: {user_message(error)}.")


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0][:300]
