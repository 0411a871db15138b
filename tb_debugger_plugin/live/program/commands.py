"""Obeys the commands of debuggers.

Invariant: a command is obeyed or refused with a sentence.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from tb_debugger_plugin.errors import DebuggerError, UsageError, user_message
from tb_debugger_plugin.events import dtypes
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.live.messages.messages import Message, Outcome, State
from tb_debugger_plugin.live.program import breakpoint_file
from tb_debugger_plugin.live.program.aims import PAUSE, STEP, STEP_OVER, RunOrder, continuation
from tb_debugger_plugin.live.program.evaluate import Results
from tb_debugger_plugin.live.program.pauses import Pauses
from tb_debugger_plugin.live.program.places import described
from tb_debugger_plugin.live.program.sentences import name_of
from tb_debugger_plugin.live.program.status import Status
from tb_debugger_plugin.live.program.tensors import HeldValue

# New values of tensors: the result of an expression, fitted to the dtype and the shape of the tensor.
#
# Invariant: a result that would not arrive as it was computed, such as 0.5 in a tensor of integers, is
# refused with a sentence.


def fitted(result: object, dtype: int, shape: tuple[int, ...]) -> Array:
    """Return the new value of a tensor.

    Args:
      result: What an expression computed.
      dtype: TensorFlow's number of the dtype of the tensor.
      shape: Its shape.

    Raises:
      UsageError: The result does not fit.
    """
    kind = dtypes.numpy_dtype(dtype)
    if kind is None:
        raise UsageError("Only tensors of numbers and truth values can be changed.")
    array = _array(result)
    try:
        broadcast = np.broadcast_to(array, shape)
    except ValueError:
        raise UsageError(
            f"The result has the shape {_shape(array.shape)}, the tensor {_shape(shape)}: they do not fit."
        ) from None
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(_cast(broadcast, kind, dtypes.dtype_name(dtype) or "its dtype"))


def _array(result: object) -> Array:
    try:
        array = np.asarray(result)
    except (ValueError, OverflowError):
        array = np.empty(0, object)
    if array.dtype.kind not in "biufc":
        raise UsageError("The result is no array of numbers.")
    return array


def _shape(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _cast(array: Array, kind: np.dtype[np.generic], name: str) -> Array:
    if array.dtype == kind:
        return array
    if array.dtype.kind == "c" and kind.kind != "c":
        raise UsageError(f"The result is complex, and the tensor holds {name}.")
    cast = array.astype(kind)
    if kind.kind in "biu" or np.issubdtype(kind, np.integer):
        # NaN, infinities, fractions and what is out of range come back as something else.
        if not np.array_equal(cast.astype(np.float64), array.astype(np.float64)):
            raise UsageError(f"The result has elements that {name} cannot hold: round and clip it first.")
    elif np.any(np.isfinite(array) & ~np.isfinite(cast.astype(np.complex128))):
        raise UsageError(f"The result has elements that are too large for {name}.")
    return cast


_log = logging.getLogger("tb_debugger_plugin")


class Commands:
    """The commands to one program. It begins with the breakpoints of the last run of its script.

    Args:
      status: The status of the program.
      pauses: Its pauses.
      results: Evaluates expressions.
    """

    def __init__(self, status: Status, pauses: Pauses, results: Results) -> None:
        self._status = status
        self._pauses = pauses
        self._results = results
        #: The last change of a value that is not on record: the tensor, and the expression.
        self._change: tuple[Message | None, str] = (None, "")
        self._load_breakpoints()

    def obey(self, command: Message) -> Message:
        """Obey a command; return an `Outcome` without the state. The caller holds the lock."""
        what = command.WhichOneof("what")
        refusal = self._refusal(command, what)
        outcome = Outcome(done=not refusal, sentence=refusal)
        if refusal:
            return outcome
        try:
            done = _COMMANDS[what].do(self, getattr(command, what))
            outcome.sentence, outcome.breakpoint = done.sentence, done.breakpoint
        except DebuggerError as error:
            outcome.done, outcome.sentence = False, str(error)
        except Exception as error:  # a debugger gets an answer, whatever it asks
            _log.debug("A command failed:", exc_info=error)
            outcome.done, outcome.sentence = False, user_message(error)
        return outcome

    def finish(self, command: Message) -> None:
        """Do what follows a command that was obeyed. The caller does not hold the lock."""
        then = _COMMANDS[command.WhichOneof("what")].then
        if then is not None:
            then(self)

    def _load_breakpoints(self) -> None:
        try:
            kept = breakpoint_file.load(self._status.program.recording.dump_root, _script())
            for message in kept:
                self._status.aims.breakpoints.keep(message)
            if kept:
                self._status.notices.add(f"Breakpoints of the last run are set again: {len(kept)}.")
        except DebuggerError as error:
            self._status.notices.add(f"Breakpoints of the last run are not used: {error}.")

    def _save_breakpoints(self) -> None:
        with self._status.lock:
            messages = [one.message for one in self._status.aims.breakpoints]
        try:
            breakpoint_file.save(self._status.program.recording.dump_root, _script(), messages)
        except OSError as error:
            with self._status.lock:
                self._status.notices.add(f"Breakpoints are not kept for the next run: {error.strerror}.")

    def _refusal(self, command: Message, what: str | None) -> str:
        """Why a command is not obeyed; empty if it is."""
        if what is None:
            return "The command is empty."
        if self._status.settings.read_only:
            return "The program lets debuggers only look: it was started with read_only=True."
        if self._status.is_off:
            ended = self._status.phase == State.ENDED
            return "The program has ended." if ended else "The program was detached: it does not stop again."
        is_paused = self._status.is_stopped
        if command.pause_number and not (is_paused and command.pause_number == self._status.pause_number):
            return "The program has gone on since: the command was about an earlier pause."
        if _COMMANDS[what].needs_pause and not is_paused:
            return "The program runs: pause it first."
        return ""

    def _do_step(self, _: Message) -> _Done:
        self._pauses.go_on(STEP)
        return _Done("To the next tensor.")

    def _do_step_over(self, _: Message) -> _Done:
        self._pauses.go_on(STEP_OVER)
        return _Done("To the next call.")

    def _do_step_out(self, _: Message) -> _Done:
        calls = self._status.calls_at_hand()
        if not calls:
            raise UsageError("The program is in no call: step over goes on to the next one.")
        self._pauses.go_on(RunOrder("step_out", after_calls=calls))
        return _Done("To the end of the call.")

    def _do_continue(self, message: Message) -> _Done:
        order = continuation(message)
        self._pauses.go_on(order)
        return _Done(f"{order.text.capitalize()}.")

    def _do_pause(self, _: Message) -> _Done:
        if self._status.is_stopped:
            raise UsageError("The program is paused already.")
        self._status.aims.give(PAUSE, is_over=self._status.is_over)
        self._status.apply()
        self._status.news()
        return _Done("It pauses at the next tensor or call.")

    def _do_detach(self, _: Message) -> _Done:
        self._status.notices.add("A debugger has detached: the program runs on without stopping again.")
        self._pauses.let_go(int(State.DETACHED))
        return _Done("The program runs on.")

    def _do_stop(self, _: Message) -> _Done:
        self._status.notices.add("A debugger has ended the program.")
        self._status.tell_to_end()
        self._pauses.let_go(int(State.DETACHED))
        return _Done("The program ends.")

    def _do_set_breakpoint(self, message: Message) -> _Done:
        number = self._status.aims.breakpoints.set(message)
        self._status.apply()
        self._status.news()
        kind = "Log point" if message.log_only else "Breakpoint"
        return _Done(f"{kind} {number}: {described(message.where)}.", number)

    def _do_remove_breakpoint(self, number: int) -> _Done:
        self._status.aims.breakpoints.remove(number)
        self._status.apply()
        self._status.news()
        return _Done(f"Breakpoint {number} is removed.", number)

    def _do_watch(self, where: Message) -> _Done:
        number = self._status.aims.watched.add(where)
        self._status.apply()
        self._status.news()
        return _Done(f"Watched: {described(where)}.", number)

    def _do_unwatch(self, number: int) -> _Done:
        self._status.aims.watched.remove(number)
        self._status.apply()
        self._status.news()
        return _Done("It is watched no longer.")

    def _do_change_value(self, message: Message) -> _Done:
        pause = self._status.pause
        assert pause is not None, "the command needs a pause"
        if not pause.can_change:
            raise UsageError(pause.cannot_change)
        if message.tensor and message.tensor != pause.tensor.number:
            raise UsageError("Only the tensor at which the program is paused can be changed.")
        result = self._results.compute(message.expression, self._status.paused_at)
        value = fitted(result, pause.tensor.dtype, tuple(pause.tensor.shape))
        self._replace(value)
        self._status.tensors.change(pause.tensor.number, HeldValue(value, pause.tensor.dtype))
        pause.tensor.CopyFrom(self._message_of_stop())
        self._status.notices.add(f"A debugger has set {name_of(pause.tensor)} to {message.expression[:200]}.")
        self._change = pause.tensor, message.expression
        self._status.news()
        return _Done(f"{name_of(pause.tensor)} is changed, this once.")

    def _record_change(self) -> None:
        """Note in the recording that a value is not the one that the program computed."""
        with self._status.lock:
            (tensor, expression), self._change = self._change, (None, "")
        if tensor is not None:
            recording = self._status.program.recording
            recording.note_changed_value(tensor.graph_id, tensor.op_name, tensor.slot, expression)

    def _replace(self, value: Array) -> None:
        """Give the tensor at which the program is paused another value."""
        if self._status.stop.hit is not None:
            assert self._status.gate is not None, "hits come from it"
            self._status.gate.replace(self._status.stop.hit.number, value.reshape(-1).view(np.uint8).data)
        elif self._status.stop.eager is not None:
            self._status.stop.changed = value

    def _message_of_stop(self) -> Message:
        if self._status.stop.eager is not None:
            return self._status.tensors.message_of_eager(self._status.stop.eager)
        assert self._status.stop.hit is not None, "the program is paused at a tensor"
        return self._status.tensors.message_of_passed(self._status.stop.hit.tensor)


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

    do: Callable[[Commands, Message], _Done]
    needs_pause: bool = False
    then: Callable[[Commands], None] | None = None


_COMMANDS: Final = {
    "step": _Command(Commands._do_step, needs_pause=True),
    "step_over": _Command(Commands._do_step_over, needs_pause=True),
    "step_out": _Command(Commands._do_step_out, needs_pause=True),
    "continue_": _Command(Commands._do_continue, needs_pause=True),
    "change_value": _Command(Commands._do_change_value, needs_pause=True, then=Commands._record_change),
    "pause": _Command(Commands._do_pause),
    "detach": _Command(Commands._do_detach),
    "stop": _Command(Commands._do_stop),
    "set_breakpoint": _Command(Commands._do_set_breakpoint, then=Commands._save_breakpoints),
    "remove_breakpoint": _Command(Commands._do_remove_breakpoint, then=Commands._save_breakpoints),
    "watch": _Command(Commands._do_watch),
    "unwatch": _Command(Commands._do_unwatch),
}


def _script() -> str:
    return sys.argv[0] if sys.argv else ""
