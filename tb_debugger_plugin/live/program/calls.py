"""Hands the calls and the eager ops of a program to its controller.

Takes the outermost calls of each Python thread: of functions, runs of sessions, and steps of a program that
runs eagerly. Eager ops come only while the controller wants them.

Invariants: no failure of the controller reaches the program, except `SystemExit`, which ends it. After
`remove()` nothing of this is left in TensorFlow, and no call waits.
"""

from __future__ import annotations

import itertools
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tb_debugger_plugin.capture.call_arguments import Arguments, name_of
from tb_debugger_plugin.capture.eager import INTERNAL_OPS
from tb_debugger_plugin.capture.hooks.functions import FunctionCall, FunctionCalls
from tb_debugger_plugin.capture.hooks.hook import hidden
from tb_debugger_plugin.capture.hooks.sessions import SessionCall
from tb_debugger_plugin.capture.observer import Observer
from tb_debugger_plugin.capture.recording import Recording
from tb_debugger_plugin.capture.stacks.calls import RunningLine
from tb_debugger_plugin.capture.stacks.frames import running_lines, user_place
from tb_debugger_plugin.capture.tf_types import EagerTensors, TfOp, TfTensor
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.live.program.interface import CallKind, Details, ProgramCall
from tb_debugger_plugin.live.program.unseen_calls import MakeCall
from tb_debugger_plugin.native.structs import NO_CALL

if TYPE_CHECKING:
    from tb_debugger_plugin.live.program.controller import Controller

_log = logging.getLogger("tb_debugger_plugin")
#: Feeds, fetches and targets of a call that are named; a run may have thousands.
_MOST_NAMES = 200
#: A call that has begun: its number, what makes it, and what was made of it if it was seen.
_Begun: TypeAlias = "tuple[int, MakeCall, ProgramCall | None]"


class _Facts(NamedTuple):
    """How to find out more about a call, as long as it runs; see `ProgramCall`."""

    find_place: Callable[[], tuple[str, int]]
    function: object = None
    find_details: Callable[[], Details] = Details
    find_lines: Callable[[], Sequence[RunningLine]] = tuple


class _Thread(threading.local):
    """Whether a thread is inside of a call, and the number of that."""

    is_inside = False
    call = NO_CALL


class CallHooks(Observer):
    """The hooks of one program, from the constructor to `remove()`.

    Args:
      recording: Has the hooks of sessions and eager ops.
      controller: Takes the calls.
      before_first: Called before the first call or, if the program waits there, before the first eager op.
      waits_at_ops: Whether the program waits before its first eager op, if that comes before a call.

    Attributes:
      is_at_first: Whether the program waits before its first call or op, or is about to.
    """

    def __init__(
        self,
        recording: Recording,
        controller: Controller,
        before_first: Callable[[], None],
        *,
        waits_at_ops: bool = False,
    ) -> None:
        self._recording = recording
        self._waits_at_ops = waits_at_ops
        self._controller = controller
        self._unseen = controller.unseen
        self._before_first: Callable[[], None] | None = before_first
        self._process = os.getpid()
        self._is_on = True
        self.is_at_first = False
        self.sees_session_runs = True
        self._thread = _Thread()
        self._numbers = itertools.count()
        self._num_functions = self._num_functions_at_step = self._num_steps = 0
        self._step: _Begun | None = None
        recording.observe(self)
        self._functions = FunctionCalls(self._around_function)

    def remove(self) -> None:
        """Remove the hooks. Calls that run go on without."""
        self._is_on = False
        self._functions.remove()
        self._recording.leave(self)
        self.sees_graphs = False

    def see_eager_ops(self, wanted: bool) -> None:
        """Hand eager ops to the controller, or do not.

        Args:
          wanted: Whether they are handed over.
        """
        self.sees_eager_ops = wanted
        self._observe()

    def tell_calls_apart(self, wanted: bool) -> None:
        """Let the gate know for which call a graph runs, or do not.

        Args:
          wanted: Whether it knows.
        """
        self.sees_graphs = wanted and self._recording.gate is not None
        self._observe()

    def _observe(self) -> None:
        if self._is_on:
            self._recording.observe(self)

    def leave_out_this_thread(self, is_left_out: bool) -> None:
        """Leave out the calls of this thread, or do not.

        Args:
          is_left_out: Whether they are left out.
        """
        self._thread.is_inside = is_left_out

    # Calls.

    @hidden
    def _around_function(self, called: FunctionCall) -> object:
        self._num_functions += 1
        facts = partial(_of_function, called, sys._getframe(1))
        return self._run(called.run, CallKind.FUNCTION, name_of(called.function), facts)

    @hidden
    def around_session_run(self, called: SessionCall) -> object:
        """Run a session, as a call of the program."""
        self._num_functions += 1
        facts = partial(_of_run, called, sys._getframe(1))
        run = partial(self.around_graph, called.run)
        return self._run(run, CallKind.SESSION_RUN, _name_of_run(called), facts)

    @hidden
    def _run(
        self, run: Callable[[], object], kind: CallKind, name: str, facts: Callable[[], _Facts]
    ) -> object:
        """Run a call, which is part of another one if one runs in this thread."""
        if not self._is_on or self._thread.is_inside or self._process != os.getpid():
            return run()
        self._thread.is_inside = True
        try:
            begun = self._begin(kind, name, facts)
            self._thread.call = begun[0]
            try:
                result = run()
            except BaseException as error:
                self._end(begun, error)
                raise
            self._end(begun, None)
            return result
        finally:
            self._thread.is_inside, self._thread.call = False, NO_CALL

    @hidden
    def around_graph(self, run: Callable[..., object], *args: object, **kwargs: object) -> object:
        """Run a graph, or an op, of the call of this thread."""
        call, gate = self._thread.call, self._recording.gate
        if call == NO_CALL or not self.sees_graphs or gate is None:
            return run(*args, **kwargs)
        gate.begin_run(call)
        try:
            return run(*args, **kwargs)
        finally:
            gate.end_run(call)

    def _begin(self, kind: CallKind, name: str, facts: Callable[[], _Facts]) -> _Begun:
        number = next(self._numbers)
        make = partial(_new_call, number, kind, name, threading.current_thread(), facts)
        if self._before_first is None and self._unseen.begin(number, kind, name, make):
            return number, make, None
        return number, make, self._before(make)

    def _end(self, begun: _Begun, error: BaseException | None) -> None:
        if not self._is_on:
            return  # it is removed, or this is a child that was forked inside the call
        number, make, call = begun
        if call is None:
            call = self._unseen.end(number) or (make() if error is not None else None)
        if call is not None:
            self._after(call, error)

    def _before(self, make: MakeCall) -> ProgramCall | None:
        try:
            call = make()
            if self._before_first is None:
                self._controller.calls.before(call)
            else:
                self._at_first(lambda: self._controller.calls.before(call))
            return call
        except Exception as error:  # the program must not see any error
            _log.debug("The debugger failed before a call:", exc_info=error)
            return None

    def _at_first(self, wait: Callable[[], None]) -> None:
        """Wait where the program begins."""
        before_first, self._before_first = self._before_first, None
        self.is_at_first = True
        try:
            if before_first is not None:
                before_first()
            wait()
        finally:
            self.is_at_first = False

    def _after(self, call: ProgramCall, error: BaseException | None) -> None:
        try:
            self._controller.calls.after(call, error)
        except Exception as failure:  # the program must not see any error
            _log.debug("The debugger failed after a call:", exc_info=failure)
        finally:
            call.finish()

    # Steps of a program without functions.

    def at_end_of_step(self) -> None:
        """Take a step of a program without functions as a call."""
        has_calls = self._num_functions > self._num_functions_at_step
        self._num_functions_at_step = self._num_functions
        number, self._num_steps = self._num_steps, self._num_steps + 1
        if not self._is_on or self._process != os.getpid():
            return
        step, self._step = self._step, None
        if step is not None:
            self._end(step, None)
        if not has_calls:
            place = user_place(sys._getframe(1))
            self._step = self._begin(CallKind.STEP, f"step {number + 1}", lambda: _Facts(lambda: place))

    # Eager ops.

    @hidden
    def before_op(self, op_type: str | bytes, frame: FrameType) -> bool:
        """Wait before the first op, if no call came before. Returns whether that is over."""
        is_over = self._before_first is None or not self._is_on or self._process != os.getpid()
        if is_over or not self._waits_at_ops:
            return True
        name = op_type.decode() if isinstance(op_type, bytes) else op_type
        if getattr(self._thread, "is_inside", False) or name in INTERNAL_OPS:
            return False
        try:
            self._at_first(lambda: self._controller.eager.before_first(name, frame))
        except Exception as error:  # the program must not see any error
            _log.debug("The debugger failed before the first op:", exc_info=error)
        return True

    def after_eager_op(
        self, op_type: str | bytes, inputs: EagerTensors, outputs: EagerTensors, frame: FrameType
    ) -> EagerTensors | None:
        """Hand an eager op to the controller."""
        if not self._is_on or self._process != os.getpid():
            return None
        try:
            name = op_type.decode() if isinstance(op_type, bytes) else op_type
            others = self._controller.eager.after_op(name, inputs, outputs, frame)
            return others if others is not None and len(others) == len(outputs) else None
        except Exception as error:  # the program must not see any error
            _log.debug("The debugger failed at an eager op:", exc_info=error)
            return None


def _new_call(
    number: int, kind: CallKind, name: str, thread: threading.Thread, facts: Callable[[], _Facts]
) -> ProgramCall:
    ident = thread.ident or 0
    return ProgramCall(number, kind, name, thread=thread.name, ident=ident, **facts()._asdict())


def _of_function(called: FunctionCall, frame: FrameType) -> _Facts:
    return _Facts(
        lambda: user_place(frame),
        called.function,
        lambda: Details(feeds=_texts(Arguments(called).described())),
        lambda: list(running_lines(frame)),
    )


def _of_run(called: SessionCall, frame: FrameType) -> _Facts:
    return _Facts(
        lambda: user_place(frame),
        called.session,
        lambda: _details_of_run(called),
        lambda: list(running_lines(frame)),
    )


def _name_of_run(called: SessionCall) -> str:
    wanted: list[TfTensor | TfOp] = [*called.fetches, *called.targets]
    names = ", ".join(one.name for one in wanted[:3])
    return f"{names}, ..." if len(wanted) > 3 else names


def _details_of_run(called: SessionCall) -> Details:
    feeds = ((ref.deref(), value) for ref, value in called.feeds.items())
    fetches, targets = called.fetches[:_MOST_NAMES], called.targets[:_MOST_NAMES]
    devices = {*(tensor.op.device for tensor in fetches), *(op.device for op in targets)}
    return Details(
        feeds=_texts(f"{tensor.name}: {_shape_text(value)}" for tensor, value in feeds),
        fetches=tuple(tensor.name for tensor in fetches),
        targets=tuple(op.name for op in targets),
        devices=tuple(sorted(devices - {""})),
    )


def _shape_text(value: Array) -> str:
    return f"{value.dtype} {list(value.shape)}"


def _texts(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(text for text, _ in zip(texts, range(_MOST_NAMES), strict=False))
