"""Where a program stops: the hooks, the gate, and what is said of both in between.

Takes calls and eager ops from the hooks of the program, and hits from the gate of its recording. Decides with
`aims` whether the program stops, and holds its threads until it may go on. A thread of this module waits for
hits.

Invariant: after `close()` and after `detach()` no thread is held.
"""

from __future__ import annotations

import _thread
import logging
import threading
from collections.abc import Sequence
from types import FrameType
from typing import Any, Final

from tb_debugger_plugin.capture.gate import TensorOfGraph
from tb_debugger_plugin.capture.observer import Observer
from tb_debugger_plugin.errors import user_message
from tb_debugger_plugin.live.messages.messages import State
from tb_debugger_plugin.live.program import eager_ops
from tb_debugger_plugin.live.program.call_stops import CallStops
from tb_debugger_plugin.live.program.clock import Clock
from tb_debugger_plugin.live.program.eager_stops import EagerStops
from tb_debugger_plugin.live.program.followers import Waits
from tb_debugger_plugin.live.program.interface import Program, ProgramCall, Settings
from tb_debugger_plugin.live.program.orders import Order
from tb_debugger_plugin.live.program.pauses import Pauses
from tb_debugger_plugin.live.program.status import Status
from tb_debugger_plugin.native.structs import Hit

_log = logging.getLogger("tb_debugger_plugin")
#: Seconds between looks at the time, and between versions of a state of which only counts have changed.
TICK_S: Final = 0.2
#: Seconds after which a program that was told to end, and comes to no hook, is interrupted.
_STOP_S: Final = 1.0


class Stops(Observer):
    """Stops one program, from the constructor to `close()`.

    Args:
      settings: What debuggers may do.
      program: The program.
      clock: The time.
      eager: What is done with eager ops and their tensors; the default is TensorFlow's.
      has_thread: Whether a thread waits for hits; without one, a test calls `take_hit` and `tick`.

    Attributes:
      unseen: Lets calls pass at which nobody looks.
    """

    def __init__(
        self,
        settings: Settings,
        program: Program,
        *,
        clock: Clock | None = None,
        eager: Any = eager_ops,
        has_thread: bool = True,
    ) -> None:
        self._status = Status(settings, program, clock or Clock(), eager)
        self._lock = self._status.lock
        self.unseen = self._status.unseen
        self._pauses = Pauses(self._status)
        self._calls = CallStops(self._status, self._pauses)
        self._eager = EagerStops(self._status, self._pauses)
        self._closed = threading.Event()
        self._prepare()
        self._know_tensors()
        if program.recording.does_not_stop:
            self._status.notices.add(program.recording.does_not_stop)
        with self._lock:
            self._status.settle()
        self._thread: threading.Thread | None = None
        if has_thread:
            self._thread = threading.Thread(target=self._run, name="tb-debugger-controller", daemon=True)
            self._thread.start()

    def _prepare(self) -> None:
        """Do what comes before the first tensor."""

    def _know_tensors(self) -> None:
        recording = self._status.program.recording
        recording.observe(self)
        self.at_new_tensors(recording.watched)

    def at_new_tensors(self, tensors: Sequence[TensorOfGraph]) -> None:
        """Take tensors of graphs that get watch ops."""
        with self._lock:
            self._status.tensors.know(tensors)
            self._status.aims.take_in(tensors)
            self._status.apply_if_on()
            self._status.has_news = True
        self._calls.isolate_new(tensors)

    # The interface for the hooks of the program.

    @property
    def is_paused(self) -> bool:
        """Whether any thread of the program is held or waits. Takes no lock."""
        return self._status.is_stopped

    def before_first_op(self, op_type: str, frame: FrameType) -> None:
        """Take the first eager op of a program that is to wait there; may block."""
        self._eager.before_first(op_type, frame)

    def before_call(self, call: ProgramCall) -> None:
        """Take a call that a thread is about to make; may block."""
        self._calls.before(call)

    def after_call(self, call: ProgramCall, error: BaseException | None) -> None:
        """Take a call that has ended in the thread that made it; may block."""
        self._calls.after(call, error)

    def on_eager_op(
        self, op_type: str, inputs: Sequence[Any], outputs: Sequence[Any], frame: FrameType
    ) -> Sequence[Any] | None:
        """Take an eager op that has run; may block. Returns other outputs, or None."""
        return self._eager.after_op(op_type, inputs, outputs, frame)

    def detach(self, why: str) -> None:
        """Let the program run on without stopping again."""
        with self._lock:
            if not self._status.is_off:
                self._status.notices.add(why)
                self._pauses.let_go(int(State.DETACHED))

    def close(self) -> None:
        """End: no thread is held from now on."""
        with self._lock:
            if self._status.phase == State.ENDED:
                return
            self._pauses.let_go(int(State.ENDED))
        self._calls.restore_watch_ops()
        self._closed.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=5 * TICK_S)

    # The thread that waits for hits.

    def _run(self) -> None:
        gate, clock = self._status.gate, self._status.clock
        while not self._closed.is_set():
            try:
                began = clock.now()
                hit = None if gate is None else gate.wait(TICK_S)
                if hit is not None:
                    self.take_hit(hit)
                elif clock.now() - began < TICK_S / 2:
                    self._closed.wait(TICK_S)  # without a gate, or when it is closed
                self.tick()
            except Exception as error:  # the program must not see any error
                _log.debug("The debugger failed:", exc_info=error)
                self.detach(f"The debugger failed ({user_message(error)}): the program runs on without it.")

    def take_hit(self, hit: Hit) -> None:
        """Take a thread that is held at the gate."""
        with self._lock:
            stop = self._pauses.decide(hit)
        if stop is not None:
            self._pauses.flush()

    def tick(self) -> None:
        """Do what the time brings: the thread of the controller calls this a few times a second."""
        status = self._status
        with self._lock:
            if status.phase == State.PAUSED and status.has_begun and status.followers.is_alone:
                status.notices.add("No debugger came back in time: the program ran on.")
                self._pauses.go_on(Order())
            else:
                status.apply_if_time_changes_it()
            waits = status.waiting.look(is_waiting=status.phase == State.WAITING)
            if waits is Waits.OVER:
                status.notices.add("No debugger came in time: the program ran on.")
                self._pauses.go_on(Order())
            if status.phase == State.RUNNING:
                status.follow_graphs()
            status.tell_counts()
            is_late = status.told_to_end is not None and status.clock.now() - status.told_to_end >= _STOP_S
            if is_late:
                status.told_to_end = None
                status.settle()
        if waits is not None:
            status.program.tell_waiting(is_over=waits is Waits.OVER)
        if is_late:
            _thread.interrupt_main()
