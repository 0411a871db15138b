"""A controller that stops at each call, for tests of what is around a controller."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Protocol

from tb_debugger_plugin.errors import NotFoundError, UsageError
from tb_debugger_plugin.live.messages.messages import (
    Evaluation,
    Message,
    Outcome,
    Pause,
    State,
    TensorList,
)
from tb_debugger_plugin.live.program.interface import BreakpointSettings, ProgramCall
from tb_debugger_plugin.live.program.unseen_calls import CountedCalls, UnseenCalls


class Flushes(Protocol):
    """A program that writes what it has recorded."""

    def flush(self) -> None: ...


class FakeController:
    """Stops before and after each call while a debugger is connected, or the program is to wait.

    `step` goes to the next stop, `step_over` too; `continue_` runs on for some calls, or permanently.

    Attributes:
      seen: `(what, name)` of everything that came from the program.
      log: Names of followers, in the order in which they came and left.
    """

    def __init__(self, settings: BreakpointSettings, program: Flushes | None = None) -> None:
        self.settings, self.program = settings, program
        self.seen: list[tuple[str, str]] = []
        self.log: list[str] = []
        self.others: Callable[[str, Sequence[object]], Sequence[object] | None] | None = None
        self.calls = self.eager = self
        self.unseen = UnseenCalls(CountedCalls())  # no call passes unseen
        self._changed = threading.Condition()
        self._state = State(version=1, phase=State.RUNNING, read_only=settings.read_only)
        self._go, self._free = 0, 0
        self._waits = settings.wait
        self._is_over = False
        self._num_pauses = 0

    # The server's side.

    def state(self) -> Message:
        with self._changed:
            return self._copy()

    def follow(self, version: int, timeout: float) -> Message:
        with self._changed:
            self._changed.wait_for(lambda: self._state.version > version, timeout)
            return self._copy()

    def control(self, command: Message) -> Message:
        if self.settings.read_only:
            return Outcome(done=False, sentence="read only", state=self.state())
        what = command.WhichOneof("what")
        with self._changed:
            if what == "continue_":
                self._free = command.continue_.calls or 1 << 30
            elif what == "detach":
                self._detach("asked")
            self._go += 1
            self._change()
            if what == "stop":
                raise UsageError("a fake does not stop programs")
        return Outcome(done=True, sentence=what or "", state=self.state())

    def list_tensors(self, after: int, limit: int) -> Message:
        return TensorList(call=after, total=limit)

    def elements(self, tensor: int, begin: int, end: int) -> Iterator[bytes]:
        if tensor == 404:
            raise NotFoundError("no such tensor")
        if tensor == 500:
            raise RuntimeError("a secret of the program")
        yield from (bytes([number % 256]) for number in range(begin, end))

    def evaluate(self, text: str) -> Message:
        return Evaluation(done=True, text=text)

    @contextlib.contextmanager
    def connected(self, follower: str, keep_s: float = 0.0) -> Iterator[None]:
        self._note(f"+{follower}", 1)
        try:
            yield
        finally:
            self._note(f"-{follower}", -1)

    def _note(self, word: str, change: int) -> None:
        with self._changed:
            self.log.append(word)
            self._state.followers += change
            self._change()

    # The program's side.

    def before_first(self, op_type: str, frame: FrameType) -> None:
        self.seen.append(("first", op_type))

    def before(self, call: ProgramCall) -> None:
        self.seen.append(("before", call.name))
        self._stop(call, Pause.BEFORE_CALL)

    def after(self, call: ProgramCall, error: BaseException | None) -> None:
        self.seen.append(("error" if error else "after", call.name))
        self._stop(call, Pause.ERROR if error else Pause.AFTER_CALL)

    def after_op(
        self, op_type: str, inputs: Sequence[object], outputs: Sequence[object], frame: FrameType
    ) -> Sequence[object] | None:
        self.seen.append(("op", op_type))
        return self.others(op_type, outputs) if self.others else None

    @property
    def is_paused(self) -> bool:
        return self._state.phase in (State.PAUSED, State.WAITING)

    def detach(self, why: str) -> None:
        with self._changed:
            self._detach(why)

    def close(self) -> None:
        with self._changed:
            self._is_over = True
            self._state.phase = State.ENDED
            self._change()

    def _detach(self, why: str) -> None:
        self._is_over = True
        self._state.phase = State.DETACHED
        self._state.notices.add(number=1, sentence=why)
        self._change()

    def _stop(self, call: ProgramCall, reason: int) -> None:
        with self._changed:
            if self._is_over or (self._state.followers == 0 and not self._waits):
                return
            if self._free and reason == Pause.BEFORE_CALL:
                self._free -= 1
                return
            if self._free:
                return
            if self.program is not None:
                self.program.flush()
            phase, self._waits = State.WAITING if self._waits else State.PAUSED, False
            self._num_pauses += 1
            go = self._go
            self._state.call.CopyFrom(call.message(is_over=reason != Pause.BEFORE_CALL))
            self._state.pause.CopyFrom(Pause(reason=reason, number=self._num_pauses))
            self._state.phase = phase
            self._change()
            self._changed.wait_for(lambda: self._go > go or self._is_over or self._is_alone(phase))
            if not self._is_over:
                self._state.phase = State.RUNNING
            self._state.ClearField("pause")
            self._change()

    def _is_alone(self, phase: int) -> bool:
        return phase == State.PAUSED and not self._state.followers

    def _change(self) -> None:
        self._state.version += 1
        self._changed.notify_all()

    def _copy(self) -> Message:
        copy = State()
        copy.CopyFrom(self._state)
        return copy
