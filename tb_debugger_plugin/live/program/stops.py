"""Where a program stops: the hooks, the gate, and what is said of both in between.

Takes calls and eager ops from the hooks of the program, and hits from the gate of its recording. Decides with
`aims` whether the program stops, and holds its threads until it may go on.

A thread of this module waits for hits. Threads of Python wait in the hooks, threads of graphs at the gate;
while the program is paused, every thread that comes to a hook or to the gate waits too.

Invariants: one lock guards everything, and nothing waits for the program or for its files while it holds the
lock. After `close()` and after `detach()` no thread is held.
"""

from __future__ import annotations

import _thread
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any, Final

import numpy.typing as npt

from tb_debugger_plugin.capture.gate import CannotChange, Gate, Hit, TensorOfGraph
from tb_debugger_plugin.errors import user_message
from tb_debugger_plugin.live.messages.messages import Message, Pause, State
from tb_debugger_plugin.live.program import eager_ops
from tb_debugger_plugin.live.program.aims import Aims, Why
from tb_debugger_plugin.live.program.clock import Clock
from tb_debugger_plugin.live.program.counted_calls import CountedCalls
from tb_debugger_plugin.live.program.followers import Followers
from tb_debugger_plugin.live.program.interface import Program, ProgramCall, Settings
from tb_debugger_plugin.live.program.notices import Notices
from tb_debugger_plugin.live.program.orders import Order
from tb_debugger_plugin.live.program.sentences import (
    CANNOT_CHANGE,
    NO_TENSOR,
    NOT_ALLOWED,
    after_call,
    before_call,
    sentence_of_stop,
)
from tb_debugger_plugin.live.program.tensors import EagerTensor, Tensors

_log = logging.getLogger("tb_debugger_plugin")
#: Seconds between looks at the time, and between versions of a state of which only counts have changed.
TICK_S: Final = 0.2
#: Seconds after which a program that was told to end, and comes to no hook, is interrupted.
_STOP_S: Final = 1.0
STOPPED: Final = (int(State.WAITING), int(State.PAUSED))
OFF: Final = (int(State.DETACHED), int(State.ENDED))
#: Errors that end loops or programs, and are no mistakes.
_ORDINARY: Final = ("StopIteration", "StopAsyncIteration", "OutOfRangeError")


@dataclass
class Stop:
    """Where the program is paused.

    Attributes:
      hit: The thread of a graph that is held; None at a hook.
      eager: The output of an eager op; None elsewhere.
      changed: Its new value.
    """

    hit: Hit | None = None
    eager: EagerTensor | None = None
    changed: npt.NDArray[Any] | None = None


class Stops:
    """Stops one program, from the constructor to `close()`.

    Args:
      settings: What debuggers may do.
      program: The program.
      clock: The time.
      eager: What is done with eager ops and their tensors; the default is TensorFlow's.
      has_thread: Whether a thread waits for hits; without one, a test calls `take_hit` and `tick`.
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
        self._settings = settings
        self._program = program
        self._eager = eager
        self._clock = clock or Clock()
        self._lock = threading.Condition()  # guards everything; notified at each new version
        self._gate: Gate | None = getattr(program.recording, "gate", None)
        self._aims = Aims(self._gate)
        self._tensors = Tensors(self._gate, settings.max_held_bytes, eager.read)
        self._followers = Followers(settings.when_alone, self._clock)
        self._notices = Notices()
        self._counted = CountedCalls()
        self._phase = int(State.RUNNING)
        self._version = 1
        self._has_news = False
        self._has_begun = not settings.wait
        self._call: ProgramCall | None = None
        self._call_message: Message | None = None
        self._is_over = True
        self._open: set[int] = set()
        self._pause: Message | None = None
        self._pause_number = 0
        self._stop = Stop()
        self._waiting_hits: list[Hit] = []
        self._threads_here = 0
        self._was_on = False
        self._sees_eager = False
        self._isolated: frozenset[int] = frozenset()
        self._is_noting = False
        self._told_to_end: float | None = None
        self._closed = threading.Event()
        self._prepare()
        self._know_tensors()
        self._thread: threading.Thread | None = None
        if has_thread:
            self._thread = threading.Thread(target=self._run, name="tb-debugger-controller", daemon=True)
            self._thread.start()

    def _prepare(self) -> None:
        """Do what comes before the first tensor."""

    # The interface for the hooks of the program.

    @property
    def is_paused(self) -> bool:
        """Whether any thread of the program is held or waits. Takes no lock."""
        return self._phase in STOPPED

    def before_call(self, call: ProgramCall) -> None:
        """Takes a call that a thread is about to make; may block."""
        self._end_if_told()
        if self._phase in OFF:
            self._isolate(self._no_longer_isolated())
            return
        if self._counted.is_new(call):
            call.details  # noqa: B018 - found out here, without the lock, in the thread of the call
        message = call.message() if self._followers.count or not self._has_begun else None
        with self._lock:
            self._wait_while_stopped()
            if self._phase in OFF:
                return
            why = self._why_before(call)
            if why is not None or not self._open:
                self._call, self._call_message, self._is_over = call, message, False
            self._counted.add(call)
            self._has_news = True
            if why is not None:
                stop = self._begin_pause(why, Stop(), sentence=before_call(call, why.text))
            else:
                wanted = self._begin_call(call)
        if why is not None:
            self._stay(stop)
            with self._lock:
                wanted = self._begin_call(call)
        self._isolate(wanted)

    def after_call(self, call: ProgramCall, error: BaseException | None) -> None:
        """Takes a call that has ended in the thread that made it; may block."""
        with self._lock:
            self._open.discard(call.number)
            if self._call is call:
                self._is_over = True
            self._has_news = True
            stop = None
            if self._phase not in OFF:
                self._follow_graphs()
                self._wait_while_stopped()
                why = self._why_after(error)
                if why is not None and self._phase not in OFF:
                    stop = self._begin_pause(why, Stop(), sentence=after_call(call, why.text))
        if stop is not None:
            self._stay(stop)
        if error is None:
            self._end_if_told()

    def on_eager_op(
        self, op_type: str, inputs: Sequence[Any], outputs: Sequence[Any], frame: FrameType
    ) -> Sequence[Any] | None:
        """Takes an eager op that has run; may block. Returns other outputs, or None."""
        self._end_if_told()
        if self._phase in OFF or not outputs or not self._eager.is_op(op_type):
            return None
        path, line = self._eager.place(frame)
        with self._lock:
            self._wait_while_stopped()
            if not self._may_stop:
                return None
            entries = self._tensors.add_eager(op_type, outputs, path, line, held=self._aims.looks)
            self._has_news = True
            self._follow_eager(entries)
            found = self._why_eager(entries)
            if found is None:
                return None
            entry, why = found
            stop = self._begin_pause(why, Stop(eager=entry), self._tensors.message_of_eager(entry))
        self._stay(stop)
        return self._changed_outputs(stop, outputs)

    def _changed_outputs(self, stop: Stop, outputs: Sequence[Any]) -> Sequence[Any] | None:
        if stop.eager is None or stop.changed is None:
            return None
        slot = stop.eager.place.slot
        changed = self._eager.make(stop.changed, outputs[slot])
        with self._lock:
            stop.eager.tensor = changed
        return [*outputs[:slot], changed, *outputs[slot + 1 :]]

    def detach(self, why: str) -> None:
        """Lets the program run on without stopping again."""
        with self._lock:
            if self._phase not in OFF:
                self._notices.add(why)
                self._let_go(int(State.DETACHED))

    def close(self) -> None:
        """Ends: no thread is held from now on."""
        with self._lock:
            if self._phase == State.ENDED:
                return
            self._let_go(int(State.ENDED))
        self._isolate(self._no_longer_isolated())
        self._closed.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=5 * TICK_S)

    # The thread that waits for hits.

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                began = self._clock.now()
                hit = None if self._gate is None else self._gate.wait(TICK_S)
                if hit is not None:
                    self.take_hit(hit)
                elif self._clock.now() - began < TICK_S / 2:
                    self._closed.wait(TICK_S)  # without a gate, or when it is closed
                self.tick()
            except Exception as error:  # the program must not see any error
                _log.debug("The debugger failed:", exc_info=error)
                self.detach(f"The debugger failed ({user_message(error)}): the program runs on without it.")

    def take_hit(self, hit: Hit) -> None:
        """Take a thread that is held at the gate."""
        with self._lock:
            stop = self._decide(hit)
        if stop is not None:
            self._flush()

    def _decide(self, hit: Hit) -> Stop | None:
        """Pause at a hit, or let its thread go on."""
        assert self._gate is not None, "hits come from it"
        if self._phase in STOPPED:
            self._waiting_hits.append(hit)
            self._news()
            return None
        why = self._aims.why_hit(hit) if self._phase not in OFF and self._may_stop else None
        if why is None:
            self._gate.release(hit.number)
            return None
        return self._begin_pause(why, Stop(hit=hit), self._tensors.message_of_passed(hit.tensor))

    def tick(self) -> None:
        """Do what the time brings: the thread of the controller calls this a few times a second."""
        with self._lock:
            if self._phase == State.PAUSED and self._has_begun and self._followers.is_alone:
                self._notices.add("No debugger came back in time: the program ran on.")
                self._go_on(Order())
            elif self._may_stop != self._was_on and self._phase not in OFF:
                self._apply()
            if self._phase == State.RUNNING:
                self._follow_graphs()
            if self._has_news:
                self._news()
            is_late = self._told_to_end is not None and self._clock.now() - self._told_to_end >= _STOP_S
            if is_late:
                self._told_to_end = None
        if is_late:
            _thread.interrupt_main()

    # Pausing and going on. The caller holds the lock.

    @property
    def _may_stop(self) -> bool:
        if self._phase in OFF:
            return False
        return not self._has_begun or not self._followers.is_alone

    def _begin_pause(
        self, why: Why, stop: Stop, tensor: Message | None = None, *, sentence: str = ""
    ) -> Stop:
        """Pause the program here."""
        self._pause_number += 1
        is_waiting = not self._has_begun and not self._followers.count
        self._phase = int(State.WAITING if is_waiting else State.PAUSED)
        self._stop = stop
        pause = Pause(
            reason=why.reason,
            sentence=sentence,
            breakpoint=why.breakpoint,
            number=self._pause_number,
            wall_time=self._clock.wall(),
        )
        if tensor is not None:
            pause.tensor.CopyFrom(tensor)
            pause.sentence = sentence_of_stop(why.text, tensor)
            self._tensors.remember(tensor)
        if stop.hit is not None:
            pause.others_may_have_passed = stop.hit.others_may_have_passed
        pause.cannot_change = self._cannot_change(stop)
        pause.can_change = not pause.cannot_change
        self._pause = pause
        self._aims.give(Order(self._aims.order.text), is_over=False)
        self._apply()
        self._news()
        return stop

    def _cannot_change(self, stop: Stop) -> str:
        if not self._settings.may_change_values:
            return NOT_ALLOWED
        if stop.hit is not None:
            return CANNOT_CHANGE[CannotChange(stop.hit.cannot_change)]
        return "" if stop.eager is not None else NO_TENSOR

    def _stay(self, stop: Stop) -> None:
        """Wait in a thread of the program until it may go on. The caller does not hold the lock."""
        self._flush()
        with self._lock:
            self._wait_while_stopped()
        self._end_if_told()

    def _wait_while_stopped(self) -> None:
        if self._phase not in STOPPED:
            return
        self._threads_here += 1
        try:
            while self._phase in STOPPED:
                self._lock.wait()
        except KeyboardInterrupt:
            self._notices.add("Ctrl-C at the program: it runs on without the debugger.")
            self._let_go(int(State.DETACHED))
        finally:
            self._threads_here -= 1

    def _go_on(self, order: Order) -> None:
        """Let the program go on after a pause."""
        self._has_begun = True
        self._phase = int(State.RUNNING)
        stop, self._stop, self._pause = self._stop, Stop(), None
        hits, self._waiting_hits = self._waiting_hits, []
        self._aims.give(order, is_over=self._is_over)
        self._apply()
        if stop.hit is not None and self._gate is not None:
            self._gate.release(stop.hit.number)
        for hit in hits:
            self._decide(hit)
        self._news()

    def _let_go(self, phase: int) -> None:
        """Let all threads go on, for good."""
        self._phase = phase
        self._pause, self._stop, self._waiting_hits = None, Stop(), []
        self._has_begun = True
        self._aims.give(Order(), is_over=False)
        self._apply()
        if self._gate is not None:
            self._gate.let_all_pass()
        self._tensors.drop_eager()
        self._news()

    def _apply(self) -> None:
        """Tell the gate and the hooks what is wanted from now on."""
        self._was_on = is_on = self._may_stop
        is_paused = self._phase in STOPPED
        held = self._settings.max_held_bytes
        self._aims.apply(is_on=is_on, is_paused=is_paused, max_bytes=held)
        self._is_noting = self._is_noting or self._aims.is_noting or self._sees_eager
        sees = (is_on and (is_paused or self._aims.looks)) or self._told_to_end is not None
        if sees != self._sees_eager:
            self._sees_eager = sees
            self._program.see_eager_ops(sees)

    def _news(self) -> None:
        self._version += 1
        self._has_news = False
        self._lock.notify_all()

    # Why the program stops. The caller holds the lock.

    def _why_before(self, call: ProgramCall) -> Why | None:
        if not self._may_stop:
            return None
        why = self._aims.why_call(call.name)
        if why is None and not self._has_begun:
            return Why(int(Pause.BEFORE_CALL))
        return why

    def _why_after(self, error: BaseException | None) -> Why | None:
        if not self._may_stop:
            return None
        is_mistake = isinstance(error, Exception) and type(error).__name__ not in _ORDINARY
        if error is not None and is_mistake:
            return Why(int(Pause.ERROR), f"{type(error).__name__}: {_first_line(error)}")
        return self._aims.why_after_call()

    def _why_eager(self, entries: Sequence[EagerTensor]) -> tuple[EagerTensor, Why] | None:
        for entry in entries:
            why = self._aims.why_eager(entry.place, partial(self._tensors.eager_numbers, entry))
            if why is not None:
                return entry, why
        return None

    def _paused_at(self) -> int:
        """Number of the tensor at which the program is paused; 0 if it is none."""
        if self._pause is None or not self._pause.HasField("tensor"):
            return 0
        return int(self._pause.tensor.number)

    # Calls.

    def _begin_call(self, call: ProgramCall) -> frozenset[int] | None:
        """Note that a call runs from now on; returns what should be isolated, if that is new."""
        is_only = not self._open
        if self._phase in OFF:
            return self._no_longer_isolated()
        self._open.add(call.number)
        self._tensors.call = call.number
        if self._is_noting:
            self._follow_graphs()
            self._is_noting = self._aims.is_noting
            if is_only:
                self._tensors.begin_call()
        wanted = self._aims.isolated() if self._may_stop else frozenset()
        if not is_only or wanted == self._isolated:
            return None
        self._isolated = wanted
        return wanted

    def _no_longer_isolated(self) -> frozenset[int] | None:
        """Nothing, if tensors have watch ops of their own and no call runs."""
        with self._lock:
            if not self._isolated or self._open:
                return None
            self._isolated = frozenset()
            return self._isolated

    def _isolate(self, wanted: frozenset[int] | None) -> None:
        """Give tensors watch ops of their own, or do nothing if it is None. The caller has no lock."""
        isolate = getattr(self._program.recording, "isolate", None)
        if isolate is None or wanted is None:
            return
        try:
            isolate(wanted)
        except Exception as error:  # stops are then where they were
            _log.debug("Tensors cannot get watch ops of their own:", exc_info=error)
            with self._lock:
                self._notices.add(f"Breakpoints stop after ops that run in parallel: {user_message(error)}.")

    def _follow_graphs(self) -> None:
        """Add what has passed the gate to the curves."""
        curves = self._aims.watched
        if curves and curves.follow(self._tensors, self._clock.wall()):
            self._has_news = True

    def _follow_eager(self, entries: Sequence[EagerTensor]) -> None:
        for entry in entries if self._aims.watched else ():
            numbers = partial(self._tensors.eager_numbers, entry)
            self._aims.watched.add_eager(entry.place, numbers, self._tensors.call, self._clock.wall())

    def _know_tensors(self) -> None:
        recording = self._program.recording
        if getattr(recording, "call_at_new_tensors", None) is not None:
            recording.call_at_new_tensors(self._take_in)
            self._take_in(recording.watched)

    def _take_in(self, tensors: Sequence[TensorOfGraph]) -> None:
        with self._lock:
            self._tensors.know(tensors)
            self._aims.take_in(tensors)
            if self._was_on:
                self._apply()
            self._has_news = True

    def _flush(self) -> None:
        try:
            self._program.flush()
        except Exception as error:  # the program must not see any error
            _log.debug("The recording cannot be written out:", exc_info=error)

    # The end of the program.

    def _end_if_told(self) -> None:
        """Raise `SystemExit` in the main thread, if a debugger wants the program to end."""
        if self._told_to_end is None or threading.current_thread() is not threading.main_thread():
            return
        with self._lock:
            self._told_to_end = None
            self._apply()
        raise SystemExit("The debugger has ended the program.")


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0][:300]
