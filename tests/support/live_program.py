"""A program with breakpoints, without TensorFlow: a script of tensors, and the real service on loopback.

:class:`ScriptedProgram` has the interface of the controller of ``live/program``: it computes a few NumPy
arrays in each call, and stops as it is told. :func:`served` lets debuggers find it below a logdir. ::

    with served(ScriptedProgram(), tmp_path / "train") as program:
        ...

    python -m tests.support.live_program LOGDIR    # until the standard input ends
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, MutableSequence, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.errors import NotFoundError, UsageError
from tb_debugger_plugin.events.dtypes import NUMBER_OF
from tb_debugger_plugin.events.gate_table import NUMBERS
from tb_debugger_plugin.live.messages import discovery
from tb_debugger_plugin.live.messages import messages as m
from tb_debugger_plugin.live.messages.messages import Message
from tb_debugger_plugin.live.program.arrays import parts_of
from tb_debugger_plugin.live.program.conditions import TensorCondition, parse_condition
from tb_debugger_plugin.live.program.evaluate import ElementCondition
from tb_debugger_plugin.live.program.server import Server
from tb_debugger_plugin.live.program.tensors import numbers_of

SOURCE: Final = "/home/me/train.py"
#: Results of expressions have numbers from here on.
_RESULTS: Final = 1_000_000_000
Array = npt.NDArray[Any]
Values = dict[str, Array]


@dataclass(frozen=True)
class Op:
    """An op of the script, which computes one tensor.

    Attributes:
      name: Its name in the graph.
      type: Its type.
      compute: Returns its value, from the values of the call so far and the number of the call.
      dtype: TensorFlow's name of the dtype.
      no_value: Why its elements cannot be read; empty if they can.
    """

    name: str
    type: str
    compute: Callable[[Values, int], Array]
    dtype: str = "float32"
    graph_id: str = "g1"
    function: str = "loss"
    layer: str = ""
    path: str = SOURCE
    line: int = 3
    device: str = "/device:CPU:0"
    no_value: str = ""


def _log(x: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.log(x)


def _times(x: Array, y: Array) -> Array:
    with np.errstate(all="ignore"):
        return x * y


#: The ops of `tests.support.events.small_program`; the logarithm of a zero is −∞ in every call.
LOSS: Final = (
    Op("x", "Placeholder", lambda values, call: np.array([[0, 1]], np.float32), line=3),
    Op("Log", "Log", lambda values, call: _log(values["x"]), layer="dense"),
    Op("mul", "Mul", lambda values, call: _times(values["x"], values["Log"])),
    Op("Mean", "Mean", lambda values, call: np.mean(values["mul"], dtype=np.float32)),
)


def _while(values: Values, call: int) -> Array:
    return values.get("while/Mul", np.full((3, 2), 1 + call, np.float32)) * 2


def _bits(name: str) -> Array:
    return np.arange(-3, 3).reshape(2, 3).astype(getattr(ml_dtypes, name))


#: A tensor of each kind, and an op that runs three times in a loop.
KINDS: Final = (
    Op(
        "big",
        "Conv2D",
        lambda values, call: np.arange(8 * 32 * 32 * 16, dtype=np.float32).reshape(8, 32, 32, 16),
    ),
    *[Op("while/Mul", "Mul", _while, function="while_body")] * 3,
    Op(
        "strings",
        "AsString",
        lambda values, call: np.array([b"a b", "é".encode(), b"\xff"], object),
        "string",
    ),
    Op("bools", "Greater", lambda values, call: np.array([[True, False]]), "bool"),
    Op("counts", "Range", lambda values, call: np.arange(call, call + 5), "int64"),
    Op("waves", "FFT", lambda values, call: np.array([1 + 2j, 3 - 4j], np.complex64), "complex64"),
    Op("brain", "Cast", lambda values, call: _bits("bfloat16"), "bfloat16"),
    Op("nibbles", "Cast", lambda values, call: _bits("int4"), "int4"),
    Op("nothing", "Empty", lambda values, call: np.zeros((0, 3), np.float32)),
    Op(
        "variable",
        "VarHandleOp",
        lambda values, call: np.zeros(()),
        "resource",
        no_value="A resource has no value.",
    ),
)


@dataclass
class _Computed:
    """A tensor of the current call."""

    message: Message
    value: Array


@dataclass
class _Goal:
    """What the program was told: where it stops, besides breakpoints."""

    doing: str = ""
    is_step: bool = False
    is_step_over: bool = False
    is_step_out: bool = False
    calls_left: int = 0
    condition: str = ""
    where: Message | None = None


@dataclass
class ScriptedProgram:
    """The script, as the service sees it; lives until :meth:`close`.

    Attributes:
      ops: What each call computes, in order.
      name: The name of the function that is called.
      read_only: Whether commands are refused.
      may_change_values: Whether values may be changed.
      call_seconds: How long a call takes while the program runs.
      max_calls: The program ends after so many.
      is_waiting: Whether it waits before its first call.
      threads: The thread that calls, and others, which are held inside of the next calls.
      clock: Returns seconds since the epoch.
      commands: What it was told, in order.
    """

    ops: Sequence[Op] = LOSS
    name: str = "loss"
    read_only: bool = False
    may_change_values: bool = True
    call_seconds: float = 0.02
    max_calls: int = 1_000_000
    is_waiting: bool = True
    threads: Sequence[str] = ("MainThread",)
    clock: Callable[[], float] = time.time
    commands: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._changed = threading.Condition()  # guards all below
        self._state = m.State(version=1, phase=m.State.RUNNING, read_only=self.read_only)
        self._state.may_change_values, self._state.max_held_bytes = self.may_change_values, 1 << 30
        self._call, self._next = 0, 0
        self._values: Values = {}
        self._tensors: list[_Computed] = []
        self._results: dict[int, Array] = {}
        self._counts: Counter[str] = Counter()
        self._points: dict[int, deque[Message]] = {}
        self._goal = _Goal()
        self._pauses = self._notices = self._numbers = 0
        self._is_closed = self._is_asked = False
        with self._changed:
            self._begin_call()
            if self.is_waiting:
                self._stop(m.Pause.BEFORE_CALL, f"Waiting for a debugger before {self.name} (call 0).")
                self._state.phase = m.State.WAITING
        self._thread = threading.Thread(target=self._run, name="scripted-program", daemon=True)
        self._thread.start()

    # What the service asks.

    def state(self) -> Message:
        """Returns the state."""
        with self._changed:
            return self._copy()

    def follow(self, version: int, timeout: float) -> Message:
        """Returns the state when it is newer than a version, or after a time."""
        with self._changed:
            self._changed.wait_for(lambda: self._state.version > version or self._is_closed, timeout)
            return self._copy()

    @contextmanager
    def connected(self, follower: str, keep_s: float = 0.0) -> Iterator[None]:
        """Counts a follower during the block."""
        self._count_follower(1)
        try:
            yield
        finally:
            self._count_follower(-1)

    def control(self, command: Message) -> Message:
        """Returns what came of a command."""
        what = command.WhichOneof("what")
        with self._changed:
            self.commands.append(command)
            refusal = self._refusal(command, what)
            if refusal:
                return m.Outcome(done=False, sentence=refusal, state=self._copy())
            outcome = _COMMANDS[what](self, getattr(command, what)) or m.Outcome()
            self._touch()
            outcome.done = not outcome.sentence
            outcome.state.CopyFrom(self._copy())
            return outcome

    def list_tensors(self, after: int, limit: int) -> Message:
        """Returns tensors of the current call."""
        with self._changed:
            found = [one.message for one in self._tensors if one.message.number > after]
            tensors = found[: min(limit or 1000, 5000)]
            return m.TensorList(call=self._call, total=len(self._tensors), tensors=tensors)

    def elements(self, tensor: int, begin: int, end: int) -> Iterator[bytes]:
        """Yields elements of a tensor."""
        with self._changed:
            found = {one.message.number: one.value for one in self._tensors} | self._results
        if tensor not in found:
            raise NotFoundError(f"The program has gone on: it does not hold tensor {tensor} any more.")
        yield from parts_of(np.asarray(found[tensor]), begin, end)

    def evaluate(self, text: str) -> Message:
        """Returns the value of an expression with tensors in backticks."""
        with self._changed:
            values = {f"{one.message.op_name}:{one.message.slot}": one.value for one in self._tensors}
        try:
            names: list[str] = []
            code = re.sub(r"`([^`]+)`", lambda match: f"_[{names.append(match[1]) or len(names) - 1}]", text)
            value = eval(code, {"np": np, "_": [values[name] for name in names]})
        except KeyError as error:
            return m.Evaluation(text=f"There is no tensor {error.args[0]} in the current call.")
        except Exception as error:
            return m.Evaluation(text=f"{type(error).__name__}: {error}")
        array = np.asarray(value)
        with self._changed:
            number = _RESULTS + len(self._results)
            self._results[number] = array
        dtype = NUMBER_OF.get(array.dtype.name, 0)
        answer = m.Evaluation(done=True, text=str(value), dtype=dtype, shape=array.shape, tensor=number)
        answer.numbers.extend(
            m.Number(name=name, value=one) for name, one in numbers_of(array, dtype).items()
        )
        return answer

    def close(self) -> None:
        """End the program."""
        with self._changed:
            self._is_closed = True
            self._state.phase = m.State.ENDED
            self._state.ClearField("pause")
            self._touch()
        self._thread.join(10)

    # For tests.

    def run_calls(self, count: int) -> None:
        """Let the program make calls, as if it ran, without waiting for time to pass."""
        with self._changed:
            for _ in range(count):
                self._end_call()

    def drop_values(self, count: int) -> None:
        """Hold the values of the first tensors of the call no more, as if they were too many."""
        with self._changed:
            for one in self._tensors[:count]:
                one.message.has_value = False
                one.message.no_value = "Its value was dropped, because the program holds too many."
            self._state.dropped_values += count
            self._touch()

    @property
    def followers(self) -> int:
        """The number of debuggers that follow."""
        with self._changed:
            return int(self._state.followers)

    def wait_for_followers(self, count: int, timeout: float = 20.0) -> bool:
        """Whether so many debuggers follow, in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._state.followers == count, timeout)

    # The script.

    def _run(self) -> None:
        while not self._is_closed:
            with self._changed:
                if self._state.phase not in (m.State.RUNNING, m.State.DETACHED):
                    self._changed.wait(0.1)
                    continue
                if not self._advance():
                    continue
            time.sleep(self.call_seconds)

    def _advance(self) -> bool:
        """Goes on to the next stop or the end of the call; returns whether the call has ended."""
        while self._next < len(self.ops):
            tensor = self._compute()
            reason = self._reason_at(tensor)
            if reason is not None:
                self._stop(*reason, tensor)
                return False
        if self._goal.is_step_out:
            self._stop(m.Pause.AFTER_CALL, f"Paused after {self.name} (call {self._call}).")
            self._state.call.is_over = True
            return False
        self._end_call()
        return self._state.phase in (m.State.RUNNING, m.State.DETACHED)

    def _end_call(self) -> None:
        while self._next < len(self.ops):
            self._compute()
        self._call += 1
        self._begin_call()
        if self._call >= self.max_calls:
            self._state.phase = m.State.ENDED
        goal = self._goal
        at_calls = next((one for one in self._state.breakpoints if one.enabled and one.where.calls), None)
        if self._state.phase == m.State.DETACHED:
            pass
        elif goal.is_step_over or self._is_asked:
            self._stop(m.Pause.ASKED if self._is_asked else m.Pause.BEFORE_CALL, self._before())
        elif goal.calls_left:
            goal.calls_left -= 1
            if not goal.calls_left:
                self._stop(m.Pause.BEFORE_CALL, self._before())
        elif at_calls is not None and re.search(at_calls.where.function_regex, self.name):
            at_calls.hits += 1
            self._stop(m.Pause.BREAKPOINT, self._before(), breakpoint=at_calls.number)
        self._touch()

    def _before(self) -> str:
        return f"Before {self.name} (call {self._call})."

    def _begin_call(self) -> None:
        self._next, self._values, self._tensors = 0, {}, []
        self._counts[self.name] += 1
        call = m.Call(number=self._call, kind=m.Call.FUNCTION, name=self.name, thread=self.threads[0])
        call.path, call.line = SOURCE, 2
        call.feeds.append("x: float32 [1, 2]")
        self._state.call.CopyFrom(call)
        del self._state.running[:]
        for at, thread in enumerate(self.threads if self.threads[1:] else ()):
            other = m.Call(
                number=self._call + at, kind=m.Call.FUNCTION, name=self.name, thread=thread, is_held=True
            )
            other.stack.add(path=SOURCE, line=5, function="work")
            self._state.running.append(other)
        del self._state.calls[:]
        self._state.calls.add(
            **{"name": self.name, "kind": m.Call.FUNCTION, "count": self._counts[self.name]},
            **{"last_number": self._call, "feeds": list(call.feeds), "devices": ["/device:CPU:0"]},
        )

    def _compute(self) -> _Computed:
        op = self.ops[self._next]
        value = np.asarray(op.compute(self._values, self._call))
        occurrence = 1 + sum(one.message.op_name == op.name for one in self._tensors)
        self._next, self._numbers = self._next + 1, self._numbers + 1
        message = m.Tensor(
            **{"number": self._numbers, "graph_id": op.graph_id, "op_name": op.name, "op_type": op.type},
            **{"dtype": NUMBER_OF[op.dtype], "shape": value.shape, "device": op.device},
            **{"occurrence": occurrence, "has_value": not op.no_value, "no_value": op.no_value},
            **{"path": op.path, "line": op.line, "function": op.function, "layer": op.layer},
        )
        computed = _Computed(message, value)
        self._keep(computed)
        self._tensors.append(computed)
        for watched in self._state.watched:
            if matches(watched.where, message):
                self._add_point(watched, message)
        return computed

    def _keep(self, computed: _Computed) -> None:
        message, value = computed.message, computed.value
        self._values[message.op_name] = value
        numbers = numbers_of(value, message.dtype)
        del message.numbers[:]
        message.numbers.extend(m.Number(name=name, value=one) for name, one in numbers.items())
        message.text = str(value.tolist()) if value.size < 5 else ""
        self._state.held_bytes = sum(one.value.nbytes for one in self._tensors)

    def _add_point(self, watched: Message, message: Message) -> None:
        points = self._points.setdefault(watched.number, deque(maxlen=1000))
        points.append(m.WatchedPoint(call=self._call, wall_time=self.clock(), numbers=message.numbers))
        del watched.points[:]
        watched.points.extend(points)

    def _reason_at(self, tensor: _Computed) -> tuple[int, str] | None:
        if self._state.phase == m.State.DETACHED:
            return None
        name = f"{tensor.message.op_name}:{tensor.message.slot}"
        for one in self._state.breakpoints:
            if self._hits(one, tensor.message):
                self._hit = one.number
                said = one.condition or "reached"
                return (
                    m.Pause.BREAKPOINT,
                    f"{said}: {name} of {tensor.message.function}, {_line(tensor.message)}.",
                )
        self._hit, goal = 0, self._goal
        if goal.is_step:
            return m.Pause.STEP, f"The next tensor is {name}."
        if goal.condition and holds(goal.condition, tensor.message, self._call):
            return m.Pause.CONDITION, f"{goal.condition}: {name}, {_line(tensor.message)}."
        if goal.where is not None and matches(goal.where, tensor.message):
            return m.Pause.CONDITION, f"Reached {name}."
        if self._is_asked:
            return m.Pause.ASKED, f"Paused at {name}."
        return None

    def _hits(self, one: Message, tensor: Message) -> bool:
        if not (one.enabled and matches(one.where, tensor) and holds(one.condition, tensor, self._call)):
            return False
        one.hits += 1
        if one.ignore:
            one.ignore -= 1
            return False
        if one.log_only:
            name = f"{tensor.op_name}:{tensor.slot}"
            one.logged.add(wall_time=self.clock(), call=self._call, name=name, numbers=tensor.numbers)
        return not one.log_only

    def _stop(self, reason: int, sentence: str, tensor: _Computed | None = None, breakpoint: int = 0) -> None:
        self._pauses += 1
        self._is_asked = False
        self._goal = _Goal(doing=self._goal.doing)
        pause = m.Pause(reason=reason, sentence=sentence, number=self._pauses, wall_time=self.clock())
        pause.is_recorded = True
        for line, function in ((3, "loss"), (2, "main")):
            pause.stack.add(path=SOURCE, line=line, function=function)
        pause.breakpoint = breakpoint
        if tensor is not None:
            pause.breakpoint = self._hit
            pause.tensor.CopyFrom(tensor.message)
            pause.can_change = self.may_change_values and not self.read_only
        if not pause.can_change:
            pause.cannot_change = "The program does not allow it, or is between calls."
        self._state.phase = m.State.PAUSED
        self._state.pause.CopyFrom(pause)
        self._touch()

    def _touch(self) -> None:
        self._state.version += 1
        self._state.doing, self._state.calls_left = self._goal.doing, self._goal.calls_left
        self._changed.notify_all()

    def _copy(self) -> Message:
        state = m.State()
        state.CopyFrom(self._state)
        return state

    def _count_follower(self, change: int) -> None:
        with self._changed:
            self._state.followers += change
            self._touch()

    def _refusal(self, command: Message, what: str | None) -> str:
        if what is None:
            return "The command is empty."
        if self.read_only:
            return "The program takes no commands (read_only)."
        if self._state.phase == m.State.ENDED:
            return "The program has ended."
        if command.pause_number and command.pause_number != self._pauses:
            return "The program has gone on since."
        return ""

    # Commands.

    def _go_on(self, goal: _Goal) -> None:
        self._goal = goal
        self._state.phase = m.State.RUNNING
        self._state.ClearField("pause")
        if goal.is_step or goal.is_step_over or goal.is_step_out:
            # At once, so that a test knows the next state.
            while not self._advance_once():
                pass

    def _advance_once(self) -> bool:
        self._advance()
        return bool(self._state.phase != m.State.RUNNING)

    def _continue(self, command: Message) -> None:
        where = command.tensor if command.HasField("tensor") else None
        text = f"continue {command.calls} calls" if command.calls else "continue"
        self._go_on(_Goal(text, calls_left=command.calls, condition=command.condition, where=where))

    def _pause(self, _: Message) -> None:
        self._is_asked = self._state.phase in (m.State.RUNNING, m.State.DETACHED)
        if self._state.phase == m.State.DETACHED:
            self._state.phase = m.State.RUNNING

    def _detach(self, _: Message) -> None:
        self._go_on(_Goal("detach"))
        self._state.phase = m.State.DETACHED

    def _end(self, _: Message) -> None:
        self._state.phase = m.State.ENDED
        self._state.ClearField("pause")

    def _set_breakpoint(self, given: Message) -> Message:
        try:
            _condition(given.condition)
        except UsageError as error:
            return m.Outcome(sentence=str(error))
        one = next((old for old in self._state.breakpoints if old.number == given.number), None)
        if given.number and one is None:
            return m.Outcome(sentence=f"There is no breakpoint {given.number}.")
        number = given.number or 1 + max((old.number for old in self._state.breakpoints), default=0)
        one = one if one is not None else self._state.breakpoints.add()
        hits = one.hits
        one.CopyFrom(given)
        one.number, one.hits = number, hits
        one.num_tensors = sum(
            matches(one.where, _static(op)) for op in {op.name: op for op in self.ops}.values()
        )
        one.problem = "" if one.num_tensors or one.where.calls else "No tensor of the program fits it."
        return m.Outcome(breakpoint=number)

    def _remove_breakpoint(self, number: int) -> Message | None:
        if number not in [one.number for one in self._state.breakpoints]:
            return m.Outcome(sentence=f"There is no breakpoint {number}.")
        _remove(self._state.breakpoints, number)
        return None

    def _change(self, given: Message) -> Message | None:
        pause = self._state.pause
        if not pause.can_change or pause.tensor.number != given.tensor:
            return m.Outcome(sentence=pause.cannot_change or "The program is not paused at this tensor.")
        computed = self._tensors[-1]
        try:
            value = np.asarray(eval(given.expression, {"np": np, "value": computed.value}))
            computed.value = np.broadcast_to(value, computed.value.shape).astype(computed.value.dtype)
        except Exception as error:
            return m.Outcome(sentence=f"{type(error).__name__}: {error}")
        self._keep(computed)
        computed.message.was_changed = True
        pause.tensor.CopyFrom(computed.message)
        self._notices += 1
        sentence = f"The value of {computed.message.op_name}:0 was changed."
        self._state.notices.add(number=self._notices, sentence=sentence)
        return None

    def _watch(self, where: Message) -> Message:
        number = 1 + max((one.number for one in self._state.watched), default=0)
        self._state.watched.add(number=number, where=where)
        return m.Outcome(breakpoint=number)

    def _unwatch(self, number: int) -> None:
        _remove(self._state.watched, number)


_Served = TypeVar("_Served")
_COMMANDS: Final[dict[str, Callable[[ScriptedProgram, Any], Message | None]]] = {
    "step": lambda program, _: program._go_on(_Goal("step", is_step=True)),
    "step_over": lambda program, _: program._go_on(_Goal("step_over", is_step_over=True)),
    "step_out": lambda program, _: program._go_on(_Goal("step_out", is_step_out=True)),
    "continue_": ScriptedProgram._continue,
    "pause": ScriptedProgram._pause,
    "detach": ScriptedProgram._detach,
    "stop": ScriptedProgram._end,
    "set_breakpoint": ScriptedProgram._set_breakpoint,
    "remove_breakpoint": ScriptedProgram._remove_breakpoint,
    "change_value": ScriptedProgram._change,
    "watch": ScriptedProgram._watch,
    "unwatch": ScriptedProgram._unwatch,
}


def _remove(messages: MutableSequence[Message], number: int) -> None:
    """Remove the message with a number."""
    for at in [at for at, one in enumerate(messages) if one.number == number]:
        del messages[at]


def _line(tensor: Message) -> str:
    return f"{Path(tensor.path).name}:{tensor.line}"


def _static(op: Op) -> Message:
    return m.Tensor(
        **{"op_name": op.name, "op_type": op.type, "layer": op.layer, "function": op.function},
        **{"path": op.path, "line": op.line},
    )


def matches(where: Message, tensor: Message) -> bool:
    """Whether a tensor is meant by a place."""
    if where.calls:
        return False
    wanted = (
        not where.op_name or (where.op_name == tensor.op_name and where.slot in (-1, tensor.slot)),
        not where.op_type or where.op_type == tensor.op_type,
        re.search(where.name_regex, tensor.op_name),
        not where.layer_regex or re.search(where.layer_regex, tensor.layer),
        not where.function_regex or re.search(where.function_regex, tensor.function),
        not where.path or (where.path, where.line) == (tensor.path, tensor.line),
    )
    return all(wanted)


def holds(condition: str, tensor: Message, call: int = 0) -> bool:
    """Whether a condition holds for a tensor; one over a number that is not known does not.

    One on elements never does.
    """
    known = {one.name: one.value for one in tensor.numbers}
    parsed = _condition(condition)
    if parsed is None:
        return False
    return parsed.at({"step": 0, "call": call}).holds({**dict.fromkeys(NUMBERS), **known})


def _condition(text: str) -> TensorCondition | None:
    """The condition of a text; None for one on elements."""
    if not ElementCondition.is_meant(text):
        return parse_condition(text)
    ElementCondition(text, dict)
    return None


@contextmanager
def served(
    program: _Served, folder: Path, *, files: str = "", argv: Sequence[str] = ("train.py",), **fields: object
) -> Iterator[_Served]:
    """Serves a program on loopback during the block, with the file by which debuggers find it.

    Args:
      program: A controller.
      folder: The dump root.
      files: Prefix of the names of its event files; empty without a recording.
      argv: The command line of the program.
      fields: Other members of the file.
    """
    secret = discovery.new_secret()
    server = Server(program, secret)
    given = discovery.LiveProgram(
        f"127.0.0.1:{server.port}",
        secret,
        os.getpid(),
        discovery.this_host(),
        tuple(argv),
        time.time(),
        files,
    )
    found = replace(given, **fields)
    folder.mkdir(parents=True, exist_ok=True)
    file = discovery.write(folder, found)
    try:
        yield program
    finally:
        discovery.remove(file, found)
        program.close()
        server.close()


def main() -> None:
    """Serve a recorded program below a logdir, until the standard input ends."""
    from tests.support.events import small_program

    folder = Path(sys.argv[1]) / "train"
    recording = small_program(folder)
    recording.close()
    program = ScriptedProgram(ops=(*LOSS, *KINDS))
    with served(program, folder, files=recording.files.prefix):
        print(f"The program waits below {sys.argv[1]}.", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
