"""Pauses of a program: how one begins, which threads wait, and how the program goes on.

Takes hits from the gate of the recording, and orders from the controller. Threads of Python wait here,
threads of graphs at the gate; while the program is paused, every thread that comes to a hook or to the gate
waits too.

Invariant: after `let_go()` no thread is held.
"""

from __future__ import annotations

import logging
import sys
import threading

from tb_debugger_plugin.events.gate_table import CannotChange
from tb_debugger_plugin.live.messages.messages import Message, Pause, State
from tb_debugger_plugin.live.program.aims import RunOrder, Why
from tb_debugger_plugin.live.program.interface import ProgramCall
from tb_debugger_plugin.live.program.sentences import (
    BESIDE_IN_SESSION,
    CANNOT_CHANGE,
    NO_TENSOR,
    NOT_ALLOWED,
    sentence_of_stop,
)
from tb_debugger_plugin.live.program.status import Status, Stop
from tb_debugger_plugin.native.structs import NO_CALL, GateHit

_log = logging.getLogger("tb_debugger_plugin")


class Pauses:
    """The pauses of one program.

    Args:
      status: The status of the program.
    """

    def __init__(self, status: Status) -> None:
        self._status = status
        self._waiting_hits: list[GateHit] = []

    # The caller holds the lock.

    def begin(
        self,
        why: Why,
        stop: Stop,
        tensor: Message | None = None,
        *,
        sentence: str = "",
        place: tuple[str, int] = ("", 0),
    ) -> Stop:
        """Pause the program.

        Args:
          why: Why it stops.
          stop: Where it stops.
          tensor: The tensor at which it stops; None at a call.
          sentence: Where it stops, if it is a call.
          place: The path and the line of the program there.
        """
        status = self._status
        pause = Pause(
            reason=why.reason,
            sentence=sentence,
            breakpoint=why.breakpoint,
            number=status.pause_number + 1,
            wall_time=status.clock.wall(),
            path=place[0],
            line=place[1],
        )
        if tensor is not None:
            pause.tensor.CopyFrom(tensor)
            pause.sentence = sentence_of_stop(why.text, tensor)
            status.tensors.remember(tensor)
        pause.stack.extend(status.stack_of(self._ident_at(stop)))
        if stop.hit is not None:
            pause.others_may_have_passed = stop.hit.others_may_have_passed
        pause.cannot_change = self._cannot_change(stop, pause)
        pause.can_change = not pause.cannot_change
        status.begin_pause(stop, pause)
        return stop

    def _ident_at(self, stop: Stop) -> int:
        """Return Python's number of the thread that stops; 0 if it is not known."""
        if stop.hit is None:
            return threading.get_ident()
        status = self._status
        if stop.hit.in_pipeline or status.call is None or not status.knows_thread:
            return 0
        return status.call.ident

    def _cannot_change(self, stop: Stop, pause: Message) -> str:
        if not self._status.settings.may_change_values:
            return NOT_ALLOWED
        if stop.hit is not None:
            why = stop.hit.cannot_change
            is_of_session = why is CannotChange.BESIDE and not pause.tensor.function
            return BESIDE_IN_SESSION if is_of_session else CANNOT_CHANGE[why]
        return "" if stop.eager is not None else NO_TENSOR

    def decide(self, hit: GateHit) -> Stop | None:
        """Pause at a hit, or let its thread go on."""
        status = self._status
        assert status.gate is not None, "hits come from it"
        if status.is_stopped:
            self._waiting_hits.append(hit)
            status.news()
            return None

        call = hit.tensor.call if hit.tensor.call != NO_CALL else status.tensors.call
        asks = status.asks_of(lambda: status.tensors.message_of_passed(hit.tensor), call)
        why = status.aims.why_hit(hit, call, asks) if status.may_stop else None
        if why is None:
            status.gate.release(hit.number)
            return None
        if not hit.in_pipeline:
            status.look_at(hit.tensor.call)
        return self.begin(why, Stop(hit=hit), status.tensors.message_of_passed(hit.tensor))

    def wait(self, call: ProgramCall | None = None) -> None:
        """Wait in a thread of the program while it is paused.

        Args:
          call: The call before or after which it waits; None at an eager op.
        """
        status = self._status
        if not status.is_stopped:
            return
        with status.thread_here(call):
            try:
                while status.is_stopped:
                    status.lock.wait()
            except KeyboardInterrupt:
                status.notices.add("Ctrl-C at the program: it runs on without the debugger.")
                self.let_go(int(State.DETACHED))

    def go_on(self, order: RunOrder) -> None:
        """Let the program go on after a pause."""
        status = self._status
        hits, self._waiting_hits = self._waiting_hits, []
        stop = status.end_pause(order)
        if stop.hit is not None and status.gate is not None:
            status.gate.release(stop.hit.number)
        for hit in hits:
            self.decide(hit)
        status.news()

    def let_go(self, phase: int) -> None:
        """Let all threads go on, permanently.

        Args:
          phase: The phase from now on.
        """
        self._waiting_hits = []
        self._status.end(phase)

    # The caller does not hold the lock.

    def stay(self, call: ProgramCall | None = None) -> None:
        """Wait in a thread of the program that has begun a pause, until it may go on.

        Args:
          call: The call before or after which it waits; None at an eager op.
        """
        self._note_sources()
        self.flush()
        with self._status.lock:
            self.wait(call)
        self.end_if_told()

    def _note_sources(self) -> None:
        """Record the sources of the lines that run, before an op of theirs is on record."""
        try:
            self._status.program.recording.note_running_stack(sys._getframe())
        except Exception as error:  # the program must not see any error
            _log.debug("The running stack cannot be recorded:", exc_info=error)

    def flush(self) -> None:
        """Write out what is recorded up to a pause, and say so."""
        status, pause = self._status, self._status.pause
        try:
            status.program.flush()
        except Exception as error:  # the program must not see any error
            _log.debug("The recording cannot be written out:", exc_info=error)
        with status.lock:
            if status.pause is pause and pause is not None:
                pause.is_recorded = True
                status.news()

    def end_if_told(self) -> None:
        """Raise `SystemExit` in the main thread, if a debugger wants the program to end."""
        status = self._status
        if status.told_to_end is None or threading.current_thread() is not threading.main_thread():
            return
        with status.lock:
            status.forget_told_to_end()
        raise SystemExit("The debugger has ended the program.")
