"""Stops a program and lets it go on, as debuggers say.

Takes calls and eager ops from the hooks of the program, hits from the gate of its recording, and commands
from debuggers. Returns the state of the program, and the tensors of the call at hand.

A thread of this module waits for hits. Threads of Python wait in the hooks, threads of graphs at the gate;
while the program is paused, every thread that comes to a hook or to the gate waits too.

Invariants: one lock guards everything, and nothing waits for the program or for its files while it holds the
lock. The version of the state rises with each change; counts alone raise it a few times a second. After
`close()` and after `detach()` no thread is held.
"""

from __future__ import annotations

import _thread
import contextlib
import logging
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.capture.gate import CannotChange, Gate, Hit, TensorOfGraph
from tb_debugger_plugin.errors import DebuggerError, UsageError, user_message
from tb_debugger_plugin.live.messages.messages import Evaluation, Message, Outcome, Pause, State, TensorList
from tb_debugger_plugin.live.program import breakpoint_file, eager_ops
from tb_debugger_plugin.live.program.aims import Aims, Why
from tb_debugger_plugin.live.program.arrays import parts_of
from tb_debugger_plugin.live.program.changes import fitted
from tb_debugger_plugin.live.program.clock import Clock
from tb_debugger_plugin.live.program.counted_calls import CountedCalls
from tb_debugger_plugin.live.program.evaluate import Results
from tb_debugger_plugin.live.program.followers import Followers
from tb_debugger_plugin.live.program.interface import Program, ProgramCall, Settings
from tb_debugger_plugin.live.program.notices import Notices
from tb_debugger_plugin.live.program.orders import PAUSE, STEP, STEP_OVER, Order, continuation
from tb_debugger_plugin.live.program.places import described
from tb_debugger_plugin.live.program.sentences import (
    CANNOT_CHANGE,
    NO_TENSOR,
    NOT_ALLOWED,
    name_of,
    sentence_of_stop,
)
from tb_debugger_plugin.live.program.tensors import EagerTensor, Tensors, Value

_log = logging.getLogger("tb_debugger_plugin")
#: Seconds between looks at the time, and between versions of a state of which only counts have changed.
TICK_S: Final = 0.2
#: Seconds after which a program that was told to end, and comes to no hook, is interrupted.
_STOP_S: Final = 1.0
_STOPPED: Final = (int(State.WAITING), int(State.PAUSED))
_OFF: Final = (int(State.DETACHED), int(State.ENDED))
#: Errors that end loops or programs, and are no mistakes.
_ORDINARY: Final = ("StopIteration", "StopAsyncIteration", "OutOfRangeError")
#: Most tensors in one list, and in a list without a limit.
_MOST_LISTED: Final = 10_000
_LISTED: Final = 1000


@dataclass
class _Stop:
    """Where the program is paused.

    Attributes:
      hit: The thread of a graph that is held; None at a hook.
      eager: The output of an eager op; None elsewhere.
      changed: Its new value.
    """

    hit: Hit | None = None
    eager: EagerTensor | None = None
    changed: npt.NDArray[Any] | None = None


class Controller:
    """Stops one program; see `interface.Controller`, from the constructor to `close()`.

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
        self._results = Results(self._tensors, self._lock)
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
        self._stop = _Stop()
        self._waiting_hits: list[Hit] = []
        self._threads_here = 0
        self._was_on = False
        self._sees_eager = False
        self._isolated: frozenset[int] = frozenset()
        self._seen_by_curves = 0
        self._told_to_end: float | None = None
        self._closed = threading.Event()
        self._load_breakpoints()
        self._know_tensors()
        self._thread: threading.Thread | None = None
        if has_thread:
            self._thread = threading.Thread(target=self._run, name="tb-debugger-controller", daemon=True)
            self._thread.start()

    # The interface for debuggers.

    def state(self) -> Message:
        """Returns the state now."""
        with self._lock:
            return self._state()

    def follow(self, version: int, timeout: float) -> Message:
        """Returns the first state with a higher version, or the present one after some seconds."""
        with self._lock:
            self._lock.wait_for(lambda: self._version > version, timeout)
            return self._state()

    @property
    def is_paused(self) -> bool:
        """Whether any thread of the program is held or waits. Takes no lock."""
        return self._phase in _STOPPED

    @contextlib.contextmanager
    def connected(self, follower: str) -> Iterator[None]:
        """Counts a debugger as connected inside a block."""
        with self._lock:
            self._followers.join()
            _log.info("%s follows the program.", follower[:100])
            if self._phase == State.WAITING:
                self._phase = int(State.PAUSED)
            self._apply()
            self._news()
        try:
            yield
        finally:
            with self._lock:
                self._followers.leave()
                if self._phase == State.PAUSED and not self._has_begun and not self._followers.count:
                    self._phase = int(State.WAITING)
                self._news()

    def control(self, command: Message) -> Message:
        """Obeys a command."""
        what = command.WhichOneof("what")
        with self._lock:
            refusal = self._refusal(command, what)
            outcome = Outcome(done=not refusal, sentence=refusal)
            if not refusal:
                try:
                    done = _COMMANDS[what].do(self, getattr(command, what))
                    outcome.sentence, outcome.breakpoint = done.sentence, done.breakpoint
                except DebuggerError as error:
                    outcome.done, outcome.sentence = False, str(error)
                except Exception as error:  # a debugger gets an answer, whatever it asks
                    _log.debug("A command failed:", exc_info=error)
                    outcome.done, outcome.sentence = False, user_message(error)
            outcome.state.CopyFrom(self._state())
        if outcome.done and what in ("set_breakpoint", "remove_breakpoint"):
            self._save_breakpoints()
        return outcome

    def list_tensors(self, after: int, limit: int) -> Message:
        """Returns tensors of the call at hand."""
        with self._lock:
            messages, total = self._tensors.listed(after, min(limit if limit > 0 else _LISTED, _MOST_LISTED))
            return TensorList(call=self._tensors.call, tensors=messages, total=total)

    def elements(self, tensor: int, begin: int, end: int) -> Iterator[bytes]:
        """Yields a range of the elements of a tensor, in parts of at most 1 MiB."""
        value = self._results.value(tensor)
        yield from parts_of(value.array, begin, end)

    def evaluate(self, text: str) -> Message:
        """Returns the result of an expression over the tensors at hand."""
        with self._lock:
            if self._phase in _OFF:
                return Evaluation(text="The program was detached, or has ended: no tensors are at hand.")
            paused_at = self._paused_at()
        return self._results.evaluate(text, paused_at)

    # The interface for the hooks of the program.

    def before_call(self, call: ProgramCall) -> None:
        """Takes a call that a thread is about to make; may block."""
        self._end_if_told()
        if self._phase in _OFF:
            return
        if self._counted.is_new(call):
            call.details  # noqa: B018 - found out here, without the lock, in the thread of the call
        message = call.message() if self._followers.count or not self._has_begun else None
        with self._lock:
            self._wait_while_stopped()
            if self._phase in _OFF:
                return
            why = self._why_before(call)
            if why is not None or not self._open:
                self._call, self._call_message, self._is_over = call, message, False
            self._counted.add(call)
            self._has_news = True
            if why is not None:
                stop = self._begin_pause(why, _Stop(), sentence=_before(call, why))
        if why is not None:
            self._stay(stop)
        self._begin_call(call)

    def after_call(self, call: ProgramCall, error: BaseException | None) -> None:
        """Takes a call that has ended in the thread that made it; may block."""
        with self._lock:
            self._open.discard(call.number)
            if self._call is call:
                self._is_over = True
            self._has_news = True
            stop = None
            if self._phase not in _OFF:
                self._follow_curves()
                self._wait_while_stopped()
                why = self._why_after(error)
                if why is not None and self._phase not in _OFF:
                    stop = self._begin_pause(why, _Stop(), sentence=_after(call, why))
        if stop is not None:
            self._stay(stop)
        if error is None:
            self._end_if_told()

    def on_eager_op(
        self, op_type: str, inputs: Sequence[Any], outputs: Sequence[Any], frame: FrameType
    ) -> Sequence[Any] | None:
        """Takes an eager op that has run; may block. Returns other outputs, or None."""
        self._end_if_told()
        if self._phase in _OFF or not outputs or not self._eager.is_op(op_type):
            return None
        path, line = self._eager.place(frame)
        with self._lock:
            self._wait_while_stopped()
            if not self._may_stop:
                return None
            entries = self._tensors.add_eager(op_type, outputs, path, line, held=self._aims.looks)
            self._has_news = True
            self._add_to_curves(entries)
            found = self._why_eager(entries)
            if found is None:
                return None
            entry, why = found
            stop = self._begin_pause(why, _Stop(eager=entry), self._tensors.message_of_eager(entry))
        self._stay(stop)
        return self._changed_outputs(stop, outputs)

    def _changed_outputs(self, stop: _Stop, outputs: Sequence[Any]) -> Sequence[Any] | None:
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
            if self._phase not in _OFF:
                self._notices.add(why)
                self._let_go(int(State.DETACHED))

    def close(self) -> None:
        """Ends: no thread is held from now on."""
        with self._lock:
            if self._phase == State.ENDED:
                return
            self._let_go(int(State.ENDED))
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

    def _decide(self, hit: Hit) -> _Stop | None:
        """Pause at a hit, or let its thread go on."""
        assert self._gate is not None, "hits come from it"
        if self._phase in _STOPPED:
            self._waiting_hits.append(hit)
            self._news()
            return None
        why = self._aims.why_hit(hit) if self._phase not in _OFF and self._may_stop else None
        if why is None:
            self._gate.release(hit.number)
            return None
        return self._begin_pause(why, _Stop(hit=hit), self._tensors.message_of_passed(hit.tensor))

    def tick(self) -> None:
        """Do what the time brings: the thread of the controller calls this a few times a second."""
        with self._lock:
            if self._phase == State.PAUSED and self._has_begun and self._followers.is_alone:
                self._notices.add("No debugger came back in time: the program ran on.")
                self._go_on(Order())
            elif self._may_stop != self._was_on and self._phase not in _OFF:
                self._apply()
            if self._phase == State.RUNNING:
                self._follow_curves()
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
        if self._phase in _OFF:
            return False
        return not self._has_begun or not self._followers.is_alone

    def _begin_pause(
        self, why: Why, stop: _Stop, tensor: Message | None = None, *, sentence: str = ""
    ) -> _Stop:
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

    def _cannot_change(self, stop: _Stop) -> str:
        if not self._settings.may_change_values:
            return NOT_ALLOWED
        if stop.hit is not None:
            return CANNOT_CHANGE[CannotChange(stop.hit.cannot_change)]
        return "" if stop.eager is not None else NO_TENSOR

    def _stay(self, stop: _Stop) -> None:
        """Wait in a thread of the program until it may go on. The caller does not hold the lock."""
        self._flush()
        with self._lock:
            self._wait_while_stopped()
        self._end_if_told()

    def _wait_while_stopped(self) -> None:
        self._threads_here += 1
        try:
            while self._phase in _STOPPED:
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
        stop, self._stop, self._pause = self._stop, _Stop(), None
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
        self._pause, self._stop, self._waiting_hits = None, _Stop(), []
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
        is_paused = self._phase in _STOPPED
        held = self._settings.max_held_bytes
        self._aims.apply(is_on=is_on, is_paused=is_paused, max_bytes=held)
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

    def _begin_call(self, call: ProgramCall) -> None:
        """Note that a call runs from now on. The caller does not hold the lock."""
        with self._lock:
            if self._phase in _OFF:
                return
            is_alone = not self._open
            self._open.add(call.number)
            self._follow_curves()
            self._tensors.begin_call(call.number, forget=is_alone)
            self._seen_by_curves = 0 if is_alone else self._seen_by_curves
            wanted = self._aims.isolated() if self._may_stop else frozenset()
            is_changed = is_alone and wanted != self._isolated
        if is_changed:
            self._isolate(wanted)

    def _isolate(self, wanted: frozenset[int]) -> None:
        isolate = getattr(self._program.recording, "isolate", None)
        if isolate is None:
            return
        self._isolated = wanted
        try:
            isolate(wanted)
        except Exception as error:  # stops are then where they were
            _log.debug("Tensors cannot get watch ops of their own:", exc_info=error)
            with self._lock:
                self._notices.add(f"Breakpoints stop after ops that run in parallel: {user_message(error)}.")

    def _follow_curves(self) -> None:
        """Add what has passed the gate to the curves."""
        ids = self._aims.watched.tensor_ids()
        if not ids or self._gate is None:
            return
        for passed in self._tensors.new_passed(self._seen_by_curves):
            self._seen_by_curves = passed.number
            numbers = self._tensors.known_numbers(passed) if passed.tensor_id in ids else None
            for curve in self._aims.watched.of_tensor(passed.tensor_id) if numbers else ():
                curve.add(self._tensors.call, self._clock.wall(), numbers or {})
                self._has_news = True

    def _add_to_curves(self, entries: Sequence[EagerTensor]) -> None:
        for entry in entries if self._aims.watched else ():
            for curve in self._aims.watched.of_place(entry.place):
                curve.add(self._tensors.call, self._clock.wall(), self._tensors.eager_numbers(entry))

    # Tensors of graphs, breakpoints of the last run.

    def _know_tensors(self) -> None:
        recording = self._program.recording
        if getattr(recording, "call_at_new_tensors", None) is not None:
            recording.call_at_new_tensors(self._take_in)
            self._take_in(recording.watched)

    def _take_in(self, tensors: Sequence[TensorOfGraph]) -> None:
        with self._lock:
            new = [one for one in tensors if self._tensors.of_graph(one.tensor_id) is None]
            self._tensors.know(new)
            self._aims.take_in(new)
            if self._was_on:
                self._apply()
            self._has_news = True

    def _load_breakpoints(self) -> None:
        try:
            kept = breakpoint_file.load(self._program.recording.dump_root, _script())
            for message in kept:
                self._aims.breakpoints.set(message)
            if kept:
                self._notices.add(f"Breakpoints of the last run are set again: {len(kept)}.")
        except DebuggerError as error:
            self._notices.add(f"Breakpoints of the last run are not used: {error}.")

    def _save_breakpoints(self) -> None:
        with self._lock:
            messages = [one.message for one in self._aims.breakpoints]
        try:
            breakpoint_file.save(self._program.recording.dump_root, _script(), messages)
        except OSError as error:
            with self._lock:
                self._notices.add(f"Breakpoints are not kept for the next run: {error.strerror}.")

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

    # The state.

    def _state(self) -> Message:
        held, dropped = self._tensors.held_bytes()
        state = State(
            version=self._version,
            phase=self._phase,
            breakpoints=self._aims.messages(),
            read_only=self._settings.read_only,
            may_change_values=self._settings.may_change_values,
            followers=self._followers.count,
            doing=self._aims.order.text,
            calls_left=self._aims.calls_left,
            watched=self._aims.watched.messages(),
            notices=self._notices.messages(),
            calls=self._counted.messages(),
            held_bytes=held,
            max_held_bytes=self._settings.max_held_bytes,
            dropped_values=dropped,
        )
        if self._call is not None:
            if self._call_message is None:
                self._call_message = self._call.message()
            state.call.CopyFrom(self._call_message)
            state.call.is_over = self._is_over
        if self._pause is not None:
            state.pause.CopyFrom(self._pause)
            at_gate = self._gate.held_threads if self._gate is not None else 0
            here = self._threads_here - (1 if self._stop.hit is None else 0)
            state.pause.held_threads = max(0, here) + at_gate
        return state

    # Commands. The caller holds the lock.

    def _refusal(self, command: Message, what: str | None) -> str:
        """Why a command is not obeyed; empty if it is."""
        if what is None:
            return "The command is empty."
        if self._settings.read_only:
            return "The program lets debuggers only look: it was started with read_only=True."
        if self._phase in _OFF:
            ended = self._phase == State.ENDED
            return "The program has ended." if ended else "The program was detached: it does not stop again."
        is_paused = self._phase in _STOPPED
        if command.pause_number and not (is_paused and command.pause_number == self._pause_number):
            return "The program has gone on since: the command was about an earlier pause."
        if _COMMANDS[what].needs_pause and not is_paused:
            return "The program runs: pause it first."
        return ""

    def _do_step(self, _: Message) -> _Done:
        self._go_on(STEP)
        return _Done("To the next tensor.")

    def _do_step_over(self, _: Message) -> _Done:
        self._go_on(STEP_OVER)
        return _Done("To the next call.")

    def _do_continue(self, message: Message) -> _Done:
        order = continuation(message)
        self._go_on(order)
        return _Done(f"{order.text.capitalize()}.")

    def _do_pause(self, _: Message) -> _Done:
        if self._phase in _STOPPED:
            raise UsageError("The program is paused already.")
        self._aims.give(PAUSE, is_over=self._is_over)
        self._apply()
        self._news()
        return _Done("It pauses at the next tensor or call.")

    def _do_detach(self, _: Message) -> _Done:
        self._notices.add("A debugger has detached: the program runs on without stopping again.")
        self._let_go(int(State.DETACHED))
        return _Done("The program runs on.")

    def _do_stop(self, _: Message) -> _Done:
        self._notices.add("A debugger has ended the program.")
        self._told_to_end = self._clock.now()
        self._let_go(int(State.DETACHED))
        return _Done("The program ends.")

    def _do_set_breakpoint(self, message: Message) -> _Done:
        number = self._aims.breakpoints.set(message)
        self._apply()
        self._news()
        return _Done(f"Breakpoint {number}: {described(message.where)}.", number)

    def _do_remove_breakpoint(self, number: int) -> _Done:
        self._aims.breakpoints.remove(number)
        self._apply()
        self._news()
        return _Done(f"Breakpoint {number} is removed.", number)

    def _do_watch(self, where: Message) -> _Done:
        number = self._aims.watched.add(where)
        self._apply()
        self._news()
        return _Done(f"Watched: {described(where)}.", number)

    def _do_unwatch(self, number: int) -> _Done:
        self._aims.watched.remove(number)
        self._apply()
        self._news()
        return _Done("It is watched no longer.")

    def _do_change_value(self, message: Message) -> _Done:
        pause = self._pause
        assert pause is not None, "the command needs a pause"
        if not pause.can_change:
            raise UsageError(pause.cannot_change)
        if message.tensor and message.tensor != pause.tensor.number:
            raise UsageError("Only the tensor at which the program is paused can be changed.")
        result = self._results.compute(message.expression, self._paused_at())
        value = fitted(result, pause.tensor.dtype, tuple(pause.tensor.shape))
        self._replace(value)
        self._tensors.change(pause.tensor.number, Value(value, pause.tensor.dtype))
        pause.tensor.CopyFrom(self._message_of_stop())
        self._notices.add(f"A debugger has set {name_of(pause.tensor)} to {message.expression[:200]}.")
        self._news()
        return _Done(f"{name_of(pause.tensor)} is changed, this once.")

    def _replace(self, value: npt.NDArray[Any]) -> None:
        """Give the tensor at which the program is paused another value."""
        if self._stop.hit is not None:
            assert self._gate is not None, "hits come from it"
            self._gate.replace(self._stop.hit.number, value.reshape(-1).view(np.uint8).data)
        elif self._stop.eager is not None:
            self._stop.changed = value

    def _message_of_stop(self) -> Message:
        if self._stop.eager is not None:
            return self._tensors.message_of_eager(self._stop.eager)
        assert self._stop.hit is not None, "the program is paused at a tensor"
        return self._tensors.message_of_passed(self._stop.hit.tensor)


class _Done(NamedTuple):
    """What was done.

    Attributes:
      sentence: In words.
      breakpoint: The number of a breakpoint, or of what is watched.
    """

    sentence: str
    breakpoint: int = 0


class _Command(NamedTuple):
    """How a command is obeyed.

    Attributes:
      do: Takes what the command says.
      needs_pause: Whether the program must be paused.
    """

    do: Callable[[Controller, Any], _Done]
    needs_pause: bool = False


_COMMANDS: Final = {
    "step": _Command(Controller._do_step, needs_pause=True),
    "step_over": _Command(Controller._do_step_over, needs_pause=True),
    "continue_": _Command(Controller._do_continue, needs_pause=True),
    "change_value": _Command(Controller._do_change_value, needs_pause=True),
    "pause": _Command(Controller._do_pause),
    "detach": _Command(Controller._do_detach),
    "stop": _Command(Controller._do_stop),
    "set_breakpoint": _Command(Controller._do_set_breakpoint),
    "remove_breakpoint": _Command(Controller._do_remove_breakpoint),
    "watch": _Command(Controller._do_watch),
    "unwatch": _Command(Controller._do_unwatch),
}


def _script() -> str:
    return sys.argv[0] if sys.argv else ""


def _before(call: ProgramCall, why: Why) -> str:
    return f"Paused before {call.name} (call {call.number}){f': {why.text}' if why.text else ''}."


def _after(call: ProgramCall, why: Why) -> str:
    return f"Paused after {call.name} (call {call.number}){f': {why.text}' if why.text else ''}."


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0][:300]
