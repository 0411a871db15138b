"""Steers a program: what debuggers ask and command, on top of what stops it.

Takes commands, and returns the state of the program, the tensors of the call at hand, and their elements.

Invariants: a command is obeyed or refused with a sentence. The version of the state rises with each change;
counts alone raise it a few times a second.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.errors import DebuggerError, UsageError, user_message
from tb_debugger_plugin.live.messages.messages import Evaluation, Message, Outcome, State, TensorList
from tb_debugger_plugin.live.program import breakpoint_file
from tb_debugger_plugin.live.program.arrays import parts_of
from tb_debugger_plugin.live.program.changes import fitted
from tb_debugger_plugin.live.program.evaluate import Results
from tb_debugger_plugin.live.program.orders import PAUSE, STEP, STEP_OVER, continuation
from tb_debugger_plugin.live.program.places import described
from tb_debugger_plugin.live.program.sentences import name_of
from tb_debugger_plugin.live.program.stops import OFF, STOPPED, Stops
from tb_debugger_plugin.live.program.tensors import Value

_log = logging.getLogger("tb_debugger_plugin")
#: Most tensors in one list, and in a list without a limit.
_MOST_LISTED: Final = 10_000
_LISTED: Final = 1000


class Controller(Stops):
    """Stops and steers one program: see `interface.Controller`."""

    def state(self) -> Message:
        """Returns the state now."""
        with self._lock:
            return self._state()

    def follow(self, version: int, timeout: float) -> Message:
        """Returns the first state with a higher version, or the present one after some seconds."""
        with self._lock:
            self._lock.wait_for(lambda: self._version > version, timeout)
            return self._state()

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
        then = _COMMANDS[what].then if outcome.done else None
        if then is not None:
            then(self)
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
            if self._phase in OFF:
                return Evaluation(text="The program was detached, or has ended: no tensors are at hand.")
            paused_at = self._paused_at()
        return self._results.evaluate(text, paused_at)

    def _prepare(self) -> None:
        self._results = Results(self._tensors, self._lock)
        #: The last change of a value that is not on record: the tensor, and the expression.
        self._change: tuple[Message | None, str] = (None, "")
        self._load_breakpoints()

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
        if self._phase in OFF:
            ended = self._phase == State.ENDED
            return "The program has ended." if ended else "The program was detached: it does not stop again."
        is_paused = self._phase in STOPPED
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
        if self._phase in STOPPED:
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
        self._change = pause.tensor, message.expression
        self._news()
        return _Done(f"{name_of(pause.tensor)} is changed, this once.")

    def _record_change(self) -> None:
        """Note in the recording that a value is not the one that the program computed."""
        with self._lock:
            (tensor, expression), self._change = self._change, (None, "")
        note = getattr(self._program.recording, "note_changed_value", None)
        if note is not None and tensor is not None:
            note(tensor.graph_id, tensor.op_name, tensor.slot, expression)

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
      then: What is done afterwards, without the lock.
    """

    do: Callable[[Controller, Any], _Done]
    needs_pause: bool = False
    then: Callable[[Controller], None] | None = None


_COMMANDS: Final = {
    "step": _Command(Controller._do_step, needs_pause=True),
    "step_over": _Command(Controller._do_step_over, needs_pause=True),
    "continue_": _Command(Controller._do_continue, needs_pause=True),
    "change_value": _Command(Controller._do_change_value, needs_pause=True, then=Controller._record_change),
    "pause": _Command(Controller._do_pause),
    "detach": _Command(Controller._do_detach),
    "stop": _Command(Controller._do_stop),
    "set_breakpoint": _Command(Controller._do_set_breakpoint, then=Controller._save_breakpoints),
    "remove_breakpoint": _Command(Controller._do_remove_breakpoint, then=Controller._save_breakpoints),
    "watch": _Command(Controller._do_watch),
    "unwatch": _Command(Controller._do_unwatch),
}


def _script() -> str:
    return sys.argv[0] if sys.argv else ""
