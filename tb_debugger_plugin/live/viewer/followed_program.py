"""One program that can be stopped, and its state.

A thread follows the state while that is wanted; while it does, the program counts a debugger as connected.
Without a connection the thread tries again at growing intervals.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Annotated, Any, Final, TypedDict

import grpc

from tb_debugger_plugin.live.messages import json
from tb_debugger_plugin.live.messages.discovery import LiveProgram
from tb_debugger_plugin.live.messages.messages import Call, Message, Pause, State, Tensor
from tb_debugger_plugin.live.viewer.service import Follower, Service, States, as_query_error

_logger = logging.getLogger(__name__)

_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 2.0
#: Results of expressions whose elements can be read.
_MAX_RESULTS: Final = 100
_JOIN_S: Final = 5.0
#: The values of enums but the first ones, which mean that nothing was said.
_PHASES, _KINDS, _REASONS = (
    frozenset(kind.DESCRIPTOR.enum_types_by_name[name].values_by_number) - {0}
    for kind, name in ((State, "Phase"), (Call, "Kind"), (Pause, "Reason"))
)


def id_of(program: LiveProgram) -> str:
    """Return the id of a program, which is the same for every viewer, and safe in a URL."""
    facts = f"{program.host}\0{program.pid}\0{program.started!r}"
    return hashlib.sha256(facts.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class LiveProgramJson(TypedDict):
    """A program as routes give it; its secret is not in it."""

    id: str  #: names it in other requests; every viewer gives it the same one
    run: str | None  #: name of its run; null before it has one
    host: str  #: host, process, command line, and seconds since the epoch
    pid: int
    program: list[str]
    started: float
    problem: str | None  #: why it cannot be reached, in a sentence; null if it can
    #: its [state](#states), with [tensors](#tensors) and [places](#commands); null before it was reached
    state: Annotated[dict[str, Any], State] | None


class FollowedProgram:
    """A program; lives until :meth:`close`.

    Args:
      found: What its file says.
      follower: What follows it, for its log.
      on_change: Called when its state or its problem has changed, by any thread; whether a page wants to know
        at once.

    Attributes:
      id: Its id.
      found: As given.
      service: Its service.
      state: Its last state; None before the first one.
      problem: Why it cannot be reached, in one sentence; None if it can, or has ended.
      run: The name of its run; None if it has none.
      ended: When it ended, in monotonic seconds; None while it runs.
    """

    def __init__(self, found: LiveProgram, follower: Follower, on_change: Callable[[bool], None]) -> None:
        self.id = id_of(found)
        self.found = found
        self.service = Service(found)
        self.state: Message | None = None
        self.problem: str | None = None
        self.run: str | None = None
        self.ended: float | None = None
        self._follower = follower
        self._on_change = on_change
        self._results: OrderedDict[int, Message] = OrderedDict()
        self._lock = threading.Lock()  # guards _results, _thread, _states, _is_wanted
        self._has_state = threading.Condition()  # notified at each new state
        self._thread: threading.Thread | None = None
        self._states: States | None = None
        self._is_wanted = False
        self._wake = threading.Event()

    def to_json(self) -> LiveProgramJson:
        """Return the program as the route ``live/programs`` answers."""
        found, state = self.found, self.state
        return {
            "id": self.id,
            "run": self.run,
            "host": found.host,
            "pid": found.pid,
            "program": list(found.program),
            "started": found.started,
            "problem": self.problem,
            "state": None if state is None else json.to_json(state),
        }

    # Following.

    def follow(self) -> None:
        """Follow the state until :meth:`rest`; starts a thread unless there is one."""
        with self._lock:
            if self._is_wanted or self.ended is not None:
                return
            self._is_wanted = True
            self._wake.clear()
            previous = self._thread
            name = f"tb-debugger-follow-{self.id}"
            self._thread = threading.Thread(target=self._run, args=(previous,), name=name, daemon=True)
            self._thread.start()

    def rest(self) -> None:
        """Stop following, so that the program knows that no debugger is there."""
        with self._lock:
            self._is_wanted = False
            states = self._states
        self._wake.set()
        if states is not None:
            states.cancel()

    def close(self) -> None:
        """Stop following and end all calls."""
        self.rest()
        self.service.close()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_JOIN_S)

    def end(self) -> None:
        """Note that the program has ended."""
        if self.ended is not None:
            return
        self.ended = time.monotonic()
        state = State()
        if self.state is not None:
            state.CopyFrom(self.state)
        state.ClearField("pause")
        state.phase = State.ENDED
        self.state, self.problem = state, None
        self.rest()
        self._on_change(True)

    def _run(self, previous: threading.Thread | None) -> None:
        if previous is not None:
            previous.join()
        pause = _FIRST_PAUSE_S
        while self._is_wanted:
            if self._follow_once():
                pause = _FIRST_PAUSE_S
            self._wake.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    def _follow_once(self) -> bool:
        """Follow until the connection ends; return whether there was one."""
        has_state = False
        try:
            states = self.service.follow(self._follower)
            with self._lock:
                self._states = states
            if not self._is_wanted:
                states.cancel()
            for state in states:
                if not _is_understood(state):
                    states.cancel()
                    self._note_problem("The program speaks of things that this version does not know.")
                    return False
                has_state = True
                self._take(state)
                if state.phase == State.ENDED:
                    self.end()
        except grpc.RpcError as error:
            self._note_problem(str(as_query_error(error)))
        except Exception as error:  # whatever a program sends, the thread goes on
            _logger.debug("Following %s failed.", self.id, exc_info=True)
            self._note_problem(f"The program cannot be followed: {type(error).__name__}.")
        return has_state

    def control(self, command: Message) -> Message:
        """Return what came of a command; the state after it is shown at once.

        Raises:
          QueryError: The program does not answer.
        """
        outcome = self.service.control(command)
        if outcome.HasField("state") and self.state is not None and _is_understood(outcome.state):
            self._take(outcome.state)
        return outcome

    def _take(self, state: Message) -> None:
        if self.ended is not None or not self._is_wanted:
            return
        with self._has_state:
            before = self.state
            if before is not None and state.version < before.version:
                return  # the answer to a command has overtaken it, or the other way round
            self.state = state
            self._has_state.notify_all()
        had_problem, self.problem = self.problem is not None, None
        self._on_change(before is None or had_problem or _is_urgent(before, state))

    def wait_until_recorded(self, pause: int, seconds: float) -> Message | None:
        """Wait until everything up to a pause is in the files of the recording, or a time is over.

        Args:
          pause: The number of the pause.
          seconds: The time.

        Returns:
          The pause; None when the program is not paused there any more.
        """

        def is_settled() -> bool:
            state = self.state
            return state is None or state.pause.number != pause or state.pause.is_recorded

        with self._has_state:
            self._has_state.wait_for(is_settled, seconds)
            state = self.state
        return state.pause if state is not None and state.pause.number == pause else None

    def _note_problem(self, sentence: str) -> None:
        if self.ended is None and self._is_wanted and self.problem != sentence:
            self.problem = sentence
            self._on_change(True)

    # Tensors.

    def keep_result(self, result: Message) -> None:
        """Remember the result of an expression, so that its elements can be read."""
        if not result.tensor:
            return
        tensor = Tensor(number=result.tensor, op_name="result", op_type="Expression")
        tensor.dtype, tensor.has_value = result.dtype, True
        tensor.shape.extend(result.shape)
        with self._lock:
            self._results[result.tensor] = tensor
            while len(self._results) > _MAX_RESULTS:
                self._results.popitem(last=False)

    def result(self, number: int) -> Message | None:
        """Return the result of an expression as a tensor; None if there is none with this number."""
        with self._lock:
            return self._results.get(number)

    def evaluate(self, expression: str) -> Message:
        """Return the result of an expression over the held tensors.

        Raises:
          QueryError: The program does not answer.
        """
        result: Message = self.service.evaluate(expression)
        self.keep_result(result)
        return result


def _is_understood(state: Message) -> bool:
    """Whether all enums of a state have known values; a page cannot show others."""
    kinds = [one.kind for one in state.calls] + ([state.call.kind] if state.HasField("call") else [])
    reasons = [state.pause.reason] if state.HasField("pause") else []
    return (
        state.phase in _PHASES
        and all(kind in _KINDS for kind in kinds)
        and all(one in _REASONS for one in reasons)
    )


def _is_urgent(before: Message, state: Message) -> bool:
    """Whether a page shows a change at once; that a program runs on, and counts, may come a little later."""
    runs_on = state.phase == State.RUNNING
    return _shown_at_once(before, runs_on) != _shown_at_once(state, runs_on)


def _shown_at_once(state: Message, runs_on: bool) -> tuple[object, ...]:
    notices = state.notices[-1].number if state.notices else 0
    stop = () if runs_on else (state.phase, state.pause.number)
    return *stop, len(state.breakpoints), notices, state.followers
