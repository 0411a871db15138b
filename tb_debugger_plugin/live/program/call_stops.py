"""Stops a program before and after its calls, and knows which calls run.

Takes calls from the hooks. Between calls it forgets the tensors of the last one, and gives tensors at which
breakpoints are set watch ops of their own.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from tb_debugger_plugin.capture.gate import TensorOfGraph
from tb_debugger_plugin.errors import failing_node, user_message
from tb_debugger_plugin.live.messages.messages import Message, Pause
from tb_debugger_plugin.live.program.aims import NO_ASKS, Why
from tb_debugger_plugin.live.program.interface import ProgramCall
from tb_debugger_plugin.live.program.pauses import Pauses
from tb_debugger_plugin.live.program.sentences import after_call, before_call, failure, op_of
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

    def before(self, call: ProgramCall) -> None:
        """Take a call that a thread is about to make; may block."""
        status = self._status
        self._pauses.end_if_told()
        if status.is_off:
            self.restore_watch_ops()
            return
        if not status.counted.knows(call.kind, call.name):
            call.details  # noqa: B018 - found out here, without the lock, in the thread of the call
        message = call.message() if status.wants_a_call else None
        with status.lock:
            self._pauses.wait(call)
            if status.is_off:
                return
            status.take_program(call.number)
            why = self._why_before(call)
            status.count_call(call, message, stops=why is not None)
            if why is not None:
                self._pauses.begin(why, Stop(), sentence=before_call(call, why.text), place=call.place)
            else:
                wanted = status.begin_call(call)
        if why is not None:
            self._pauses.stay(call)
            with status.lock:
                wanted = status.begin_call(call)
        self._isolate(wanted)

    def after(self, call: ProgramCall, error: BaseException | None) -> None:
        """Take a call that has ended in the thread that made it; may block."""
        status = self._status
        with status.lock:
            status.end_call(call, has_failed=error is not None)
            why = None
            if not status.is_off:
                status.follow_graphs()
                self._pauses.wait(call)
                why = self._why_after(call, error)
                if why is not None:
                    status.show_call(call, is_over=True)
                    status.tensors.call = call.number
                    self._pauses.begin(why, Stop(), sentence=after_call(call, why.text), place=call.place)
                    self._tell_failure(error)
        if why is not None:
            self._pauses.stay(call)
        if error is None:
            self._pauses.end_if_told()

    def _why_before(self, call: ProgramCall) -> Why | None:
        status = self._status
        if not status.may_stop:
            return None
        asks = NO_ASKS._replace(log=lambda entry: status.log(entry, call.name, call.number, {}))
        why = status.aims.why_call(call.name, call.lines if status.aims.looks_at_lines else (), asks)
        if why is None and not status.has_begun:
            return Why(int(Pause.BEFORE_CALL))
        return why

    def _why_after(self, call: ProgramCall, error: BaseException | None) -> Why | None:
        if not self._status.may_stop:
            return None
        is_mistake = isinstance(error, Exception) and type(error).__name__ not in _ORDINARY
        if error is not None and is_mistake:
            return Why(int(Pause.ERROR), failure(error, self._failed_op(error)))
        return self._status.aims.why_after_call(call.number)

    def _failed_op(self, error: BaseException) -> Message | None:
        """Return the output of the op that an error is about; None if the error does not say."""
        name = failing_node(error)
        return None if name is None else self._status.tensors.output_of(name) or op_of(name, error)

    def _tell_failure(self, error: BaseException | None) -> None:
        """Add what is known of the op that failed to the pause. The caller holds the lock."""
        failed = None if error is None else self._failed_op(error)
        if failed is not None and self._status.pause is not None:
            self._status.pause.failed.CopyFrom(failed)
            self._status.pause.inputs.extend(self._status.tensors.inputs_of(failed))

    # Watch ops of their own.

    def isolate_new(self, tensors: Sequence[TensorOfGraph]) -> None:
        """Give wanted tensors of a new function watch ops of their own, where nothing else stops at them.

        The caller has no lock.
        """
        unrecorded = frozenset(one.tensor_id for one in tensors if not one.is_recorded)
        if unrecorded:
            with self._status.lock:
                wanted = self._status.isolate_more(unrecorded)
            self._isolate(wanted)

    def restore_watch_ops(self) -> None:
        """Give no tensor watch ops of its own any more, unless a call runs. The caller has no lock."""
        with self._status.lock:
            wanted = self._status.no_longer_isolated()
        self._isolate(wanted)

    def _isolate(self, wanted: frozenset[int] | None) -> None:
        """Give tensors watch ops of their own, or do nothing if it is None. The caller has no lock."""
        status = self._status
        if wanted is None:
            return
        try:
            status.program.recording.isolate(wanted)
        except Exception as error:  # stops are then where they were
            _log.debug("Tensors cannot get watch ops of their own:", exc_info=error)
            with status.lock:
                status.notices.add(f"Breakpoints stop after ops that run in parallel: {user_message(error)}.")
