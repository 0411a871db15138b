"""The controller of a program: takes what its hooks and its gate see, and what debuggers ask and command.

Takes calls and eager ops from the hooks, and hits from the gate of the recording: a thread of this module
waits for them. Returns the state of the program, the tensors of the current call, and their elements.

Invariants: after `close()` and after `detach()` no thread is held. The version of the state rises with each
change; counts alone raise it a few times a second.
"""

from __future__ import annotations

import _thread
import contextlib
import logging
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from tb_debugger_plugin.capture.gate import TensorOfGraph
from tb_debugger_plugin.capture.observer import Observer
from tb_debugger_plugin.errors import user_message
from tb_debugger_plugin.live.messages.messages import Evaluation, Message, State, TensorList
from tb_debugger_plugin.live.program.aims import RunOrder
from tb_debugger_plugin.live.program.arrays import parts_of
from tb_debugger_plugin.live.program.call_stops import CallStops
from tb_debugger_plugin.live.program.commands import Commands
from tb_debugger_plugin.live.program.eager_stops import EagerAccess, EagerStops
from tb_debugger_plugin.live.program.evaluate import Results
from tb_debugger_plugin.live.program.followers import Clock, Waits
from tb_debugger_plugin.live.program.interface import BreakpointSettings
from tb_debugger_plugin.live.program.pauses import Pauses
from tb_debugger_plugin.live.program.status import Status
from tb_debugger_plugin.native.structs import GateHit

if TYPE_CHECKING:
    from tb_debugger_plugin.live.program.api import Breakpoints

_log = logging.getLogger("tb_debugger_plugin")
#: Most tensors in one list, and in a list without a limit.
_MOST_LISTED: Final = 10_000
_LISTED: Final = 1000
#: Seconds between looks at the time, and between versions of a state of which only counts have changed.
TICK_S: Final = 0.2
#: Seconds after which a program that was told to end, and comes to no hook, is interrupted.
_STOP_S: Final = 1.0


class Controller(Observer):
    """Stops and steers one program; see `BreakpointSettings`, and `State` and `Command` of `live.proto`.

    Lives from the constructor to `close()`. Threads of the server ask and command; those of the program call
    `calls` and `eager`. They get no exception from `Exception`'s
    subclasses: the hooks drop them. `SystemExit` passes, for a program that is to end.

    Calls that pass `unseen` do not come to `calls.before`, and to `calls.after` only if they were taken up
    meanwhile, or fail.

    Args:
      settings: What debuggers may do.
      program: The program.
      clock: The time.
      eager: What is done with eager ops and their tensors; the default is TensorFlow's.
      has_thread: Whether a thread waits for hits; without one, a test calls `take_hit` and `tick`.

    Attributes:
      calls: Stops the program at its calls.
      eager: Stops it at eager ops.
      unseen: Lets calls pass at which nobody looks.
    """

    def __init__(
        self,
        settings: BreakpointSettings,
        program: Breakpoints,
        *,
        clock: Clock | None = None,
        eager: EagerAccess | None = None,
        has_thread: bool = True,
    ) -> None:
        eager = eager or EagerAccess()
        self._status = Status(settings, program, clock or Clock(), eager.read, eager.lines)
        self._lock = self._status.lock
        self.unseen = self._status.unseen
        self._pauses = Pauses(self._status)
        self.calls = CallStops(self._status, self._pauses)
        self.eager = EagerStops(self._status, self._pauses, eager)
        self._closed = threading.Event()
        self._results = Results(self._status.tensors, self._lock)
        self._commands = Commands(self._status, self._pauses, self._results)
        program.recording.observe(self)
        self.at_new_tensors(program.recording.watched)
        if program.recording.does_not_stop:
            self._status.notices.add(program.recording.does_not_stop)
        with self._lock:
            self._status.take_program(0)
            self._status.settle()
        self._thread: threading.Thread | None = None
        if has_thread:
            self._thread = threading.Thread(target=self._run, name="tb-debugger-controller", daemon=True)
            self._thread.start()

    # What debuggers ask and command.

    def state(self) -> Message:
        """Return the `State` now."""
        with self._lock:
            return self._status.message()

    def follow(self, version: int, timeout: float) -> Message:
        """Return the first `State` with a higher version, or the present one after a time.

        Args:
          version: The version that the caller has.
          timeout: Seconds to wait at most.
        """
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
        with self._lock:
            _log.info("%s follows the program.", follower[:100])
            self._status.join()
        try:
            yield
        finally:
            with self._lock:
                self._status.leave(keep_s)

    def control(self, command: Message) -> Message:
        """Obey a `Command`; return an `Outcome`."""
        with self._lock:
            outcome = self._commands.obey(command)
            outcome.state.CopyFrom(self._status.message())
        if outcome.done:
            self._commands.finish(command)
        return outcome

    def list_tensors(self, after: int, limit: int) -> Message:
        """Return the `TensorList` of the current call: tensors numbered above `after`, at most `limit`."""
        most = min(limit if limit > 0 else _LISTED, _MOST_LISTED)
        tensors = self._status.tensors
        with self._lock:
            messages, total = tensors.listed(after, most)
            return TensorList(call=tensors.call, tensors=messages, total=total)

    def elements(self, tensor: int, begin: int, end: int) -> Iterator[bytes]:
        """Yield a range of the elements of a tensor, in parts of at most 1 MiB.

        Raises:
          NotFoundError: The tensor is not there any more.
          UsageError: The range is none of the tensor's.
        """
        value = self._results.value(tensor)
        yield from parts_of(value.array, begin, end)

    def evaluate(self, text: str) -> Message:
        """Return the `Evaluation` of an expression over the held tensors."""
        with self._lock:
            if self._status.is_off:
                return Evaluation(text="The program was detached, or has ended: no tensors can be read.")
            paused_at = self._status.paused_at
        return self._results.evaluate(text, paused_at)

    # The interface for the hooks of the program.

    def at_new_tensors(self, tensors: Sequence[TensorOfGraph]) -> None:
        """Take tensors of graphs that get watch ops."""
        with self._lock:
            self._status.take_in(tensors)
        self.calls.isolate_new(tensors)

    def at_end_of_step(self) -> None:
        """Take the end of a step, which conditions may name."""
        with self._lock:
            self._status.take_program(self._status.tensors.call)

    @property
    def is_paused(self) -> bool:
        """Whether any thread of the program is held or waits. Takes no lock: signal handlers ask."""
        return self._status.is_stopped

    def detach(self, why: str) -> None:
        """Let the program run on without stopping again, also when commands are refused.

        Args:
          why: A sentence for the debuggers.
        """
        with self._lock:
            if not self._status.is_off:
                self._status.notices.add(why)
                self._pauses.let_go(int(State.DETACHED))

    def close(self) -> None:
        """End: release all threads, and stop none from now on. Further calls do nothing."""
        with self._lock:
            if self._status.phase == State.ENDED:
                return
            self._pauses.let_go(int(State.ENDED))
        self.calls.restore_watch_ops()
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

    def take_hit(self, hit: GateHit) -> None:
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
                self._pauses.go_on(RunOrder())
            else:
                status.apply_if_time_changes_it()
            waits = status.waiting.look(is_waiting=status.phase == State.WAITING)
            if waits is Waits.OVER:
                status.notices.add("No debugger came in time: the program ran on.")
                self._pauses.go_on(RunOrder())
            if status.phase == State.RUNNING:
                status.follow_graphs()
            status.tell_counts()
            is_late = status.told_to_end is not None and status.clock.now() - status.told_to_end >= _STOP_S
            if is_late:
                status.forget_told_to_end()
        if waits is not None:
            status.program.tell_waiting(is_over=waits is Waits.OVER)
        if is_late:
            _thread.interrupt_main()
