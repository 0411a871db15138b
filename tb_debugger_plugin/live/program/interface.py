"""What the hooks, the server and the controller of a program know of each other.

The hooks of `calls` and the server of `server` call a `Controller`. The controller uses a `Program`: what it
may do to the program beside stopping it. Neither TensorFlow nor gRPC is needed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from tb_debugger_plugin.capture.observer import InteractiveRecording
from tb_debugger_plugin.capture.stacks.calls import RunningLine
from tb_debugger_plugin.live.messages.messages import Call, Message

if TYPE_CHECKING:
    from tb_debugger_plugin.live.program.unseen_calls import UnseenCalls

#: Bytes of values that are held for the current call, unless the program says otherwise.
MAX_HELD_BYTES: Final = 1 << 30
#: Seconds that a paused program waits after its last debugger has left, unless it says otherwise.
WHEN_ALONE_S: Final = 5.0


@dataclass(frozen=True)
class Settings:
    """What the program allows its debuggers.

    Attributes:
      wait: Whether the program waits before its first call until a debugger lets it go on.
      wait_s: Seconds that it waits at most while no debugger is there; None for ever.
      waits_at_ops: Whether it waits before its first eager op, if that comes before the first call.
      when_alone: Seconds that a paused program waits when its last debugger has left, before it runs on; None
        to wait until a debugger is back. The wait before the first call is not meant.
      may_change_values: Whether debuggers may change values.
      read_only: Whether commands of debuggers are refused.
      max_held_bytes: Bytes of values that may be held for the current call.
      filters: Functions of a datum and an array, by the names that conditions of breakpoints give them.
    """

    wait: bool = True
    wait_s: float | None = None
    waits_at_ops: bool = False
    when_alone: float | None = WHEN_ALONE_S
    may_change_values: bool = False
    read_only: bool = False
    max_held_bytes: int = MAX_HELD_BYTES
    filters: Mapping[str, Any] = field(default_factory=dict)


class CallKind(IntEnum):
    """`Call.Kind` of `live.proto`."""

    FUNCTION = 1
    SESSION_RUN = 2
    STEP = 3


class Details(NamedTuple):
    """What a call works on, as text; see `Call` of `live.proto`.

    Attributes:
      feeds: Feeds of a session run, or arguments of a function, with dtypes and shapes.
      fetches: Fetches of a session run.
      targets: Ops that a session run runs without fetching them.
      devices: Devices of the graph, as far as it is known before the call.
    """

    feeds: tuple[str, ...] = ()
    fetches: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()


class ProgramCall:
    """An outermost call that a thread of the program makes.

    What is not needed for each call is found out when it is first asked for, which must be before the call
    ends. Whatever fails then leaves the fact empty.

    Args:
      number: Counts the calls of the process, from 0.
      kind: What is called.
      name: Its name: of the function, the fetches of the run, or the step.
      thread: Name of the Python thread.
      function: The `tf.function`, concrete function or session; None for a step, and when the call is over.
      find_details: Finds what the call works on.
      find_place: Finds the path and the line of the program that calls.
      find_lines: Finds the lines that its thread runs, innermost first.
    """

    def __init__(
        self,
        number: int,
        kind: CallKind,
        name: str,
        *,
        thread: str,
        function: Any = None,
        find_details: Callable[[], Details] = Details,
        find_place: Callable[[], tuple[str, int]] = lambda: ("", 0),
        find_lines: Callable[[], Sequence[RunningLine]] = tuple,
    ) -> None:
        self.number = number
        self.kind = kind
        self.name = name
        self.thread = thread
        self.function = function
        self._find_details = find_details
        self._find_place = find_place
        self._find_lines = find_lines

    @cached_property
    def details(self) -> Details:
        """What the call works on."""
        try:
            return self._find_details()
        except Exception:  # objects of the program may do anything when they are asked
            return Details()

    @cached_property
    def place(self) -> tuple[str, int]:
        """Path and line of the program that calls; empty and 0 if there is none."""
        try:
            return self._find_place()
        except Exception:
            return "", 0

    @property
    def lines(self) -> Sequence[RunningLine]:
        """The lines that its thread runs, innermost first; for that thread, before the call."""
        try:
            return self._find_lines()
        except Exception:
            return ()

    def finish(self) -> None:
        """Let go of what the call holds on to; facts that nobody asked for are empty from now on."""
        self.function, self._find_details, self._find_place = None, Details, lambda: ("", 0)
        self._find_lines = tuple

    def message(self, *, is_over: bool = False, is_held: bool = False) -> Message:
        """Return the call as a `Call`.

        Args:
          is_over: Whether it has ended.
          is_held: Whether its thread is stopped, or waits because another one is.
        """
        path, line = self.place
        return Call(
            number=self.number,
            kind=int(self.kind),
            name=self.name,
            feeds=self.details.feeds,
            fetches=self.details.fetches,
            targets=self.details.targets,
            thread=self.thread,
            is_over=is_over,
            is_held=is_held,
            path=path,
            line=line,
        )


class Program(Protocol):
    """What a controller may do to its program. All methods may be called by any thread."""

    @property
    def recording(self) -> InteractiveRecording:
        """The recording of the program."""

    def flush(self) -> None:
        """Write out what was recorded so far, so that the page sees everything up to a pause."""

    def see_eager_ops(self, wanted: bool) -> None:
        """Let `on_eager_op` of the controller be called from now on, or no longer; at first it is not.

        Args:
          wanted: Whether it is called. A program that nobody debugs pays for no such call.
        """

    def tell_calls_apart(self, wanted: bool) -> None:
        """Let the gate know from now on for which call a graph runs, or no longer; at first it does not.

        Args:
          wanted: Whether it knows. A program that nothing may stop pays for no such thing.
        """

    def tell_waiting(self, *, is_over: bool) -> None:
        """Tell whoever runs the program that it still waits for a debugger, or that it waits no longer.

        Args:
          is_over: Whether it runs on.
        """


class Controller(Protocol):
    """Stops and steers one program; see `Settings`, and `State` and `Command` of `live.proto`.

    The first five methods and `connected` are called by threads of the server, those that begin with
    `before`, `after` and `on` by threads of the program. Threads of the program get no exception from
    `Exception`'s subclasses: the hooks drop them. `SystemExit` passes, for a program that is to end.

    Calls that pass `unseen` do not come to `before_call`, and to `after_call` only if they were taken up
    meanwhile, or fail.

    Attributes:
      unseen: Lets calls pass at which nobody looks.
    """

    unseen: UnseenCalls

    def state(self) -> Message:
        """Return the `State` now."""

    def follow(self, version: int, timeout: float) -> Message:
        """Return the first `State` with a higher version, or the present one after a time.

        Args:
          version: The version that the caller has.
          timeout: Seconds to wait at most.
        """

    def control(self, command: Message) -> Message:
        """Obey a `Command`; returns an `Outcome`."""

    def list_tensors(self, after: int, limit: int) -> Message:
        """Return the `TensorList` of the current call: tensors numbered above `after`, at most `limit`."""

    def elements(self, tensor: int, begin: int, end: int) -> Iterator[bytes]:
        """Yield a range of the elements of a tensor, in parts of at most 1 MiB.

        Raises:
          NotFoundError: The tensor is not there any more.
          UsageError: The range is none of the tensor's.
        """

    def evaluate(self, text: str) -> Message:
        """Return the `Evaluation` of an expression over the held tensors."""

    def connected(self, follower: str, keep_s: float = 0.0) -> AbstractContextManager[None]:
        """Count a debugger as connected inside a block.

        Args:
          follower: What it is, for the log.
          keep_s: Seconds that a paused program waits at least when it leaves as the last one.
        """

    def before_first_op(self, op_type: str, frame: FrameType) -> None:
        """Take the first eager op of a program that is to wait there; may block.

        Args:
          op_type: Its type.
          frame: The frame below which the program makes it.
        """

    def before_call(self, call: ProgramCall) -> None:
        """Take a call that a thread is about to make; may block."""

    def after_call(self, call: ProgramCall, error: BaseException | None) -> None:
        """Take a call that has ended in the thread that made it; may block.

        Args:
          call: The call.
          error: What it raised; None if it returned.
        """

    def on_eager_op(
        self, op_type: str, inputs: Sequence[Any], outputs: Sequence[Any], frame: FrameType
    ) -> Sequence[Any] | None:
        """Take an eager op that has run; may block.

        Args:
          op_type: Its type, or the name of a function.
          inputs: Its inputs.
          outputs: Its outputs.
          frame: The frame below which the program made it.

        Returns:
          Other outputs for the program, as many; None for the same.
        """

    @property
    def is_paused(self) -> bool:
        """Whether any thread of the program is held or waits. Takes no lock: signal handlers ask."""

    def detach(self, why: str) -> None:
        """Let the program run on without stopping again, also when commands are refused.

        Args:
          why: A sentence for the debuggers.
        """

    def close(self) -> None:
        """End: release all threads, and stop none from now on. Further calls do nothing."""


#: Makes the controller of a program.
MakeController = Callable[[Settings, Program], Controller]
