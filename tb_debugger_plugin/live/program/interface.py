"""What a program allows its debuggers, and its calls, as hooks and controller hand them on.

Neither TensorFlow nor gRPC is needed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Final, NamedTuple, TypeGuard

from tb_debugger_plugin.capture.stacks.calls import RunningLine
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.live.messages.messages import Call, Message
from tb_debugger_plugin.live.program.filters import Filter, checked_filters

#: Bytes of values that are held for the current call, unless the program says otherwise.
MAX_HELD_BYTES: Final = 1 << 30
#: Seconds that a paused program waits after its last debugger has left, unless it says otherwise.
WHEN_ALONE_S: Final = 5.0


@dataclass(frozen=True)
class BreakpointSettings:
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
    filters: Mapping[str, Filter] = field(default_factory=dict)


def checked_settings(
    *,
    wait: object = True,
    when_alone: object = WHEN_ALONE_S,
    may_change_values: object = False,
    read_only: object = False,
    max_held_bytes: object = MAX_HELD_BYTES,
    filters: object = None,
) -> BreakpointSettings:
    """Return what debuggers may do; see `enable_breakpoints` for the arguments.

    Raises:
      UsageError: An argument cannot be used.
    """
    if not isinstance(wait, bool) and not (_is_number(wait) and 0 <= wait < 1e9):
        raise UsageError(f"wait is {wait!r}: give True, False, or a number of seconds from 0 on.")
    flags = {"may_change_values": may_change_values, "read_only": read_only}
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise UsageError(f"{name} is {flag!r}: give True or False.")
    if when_alone is not None and not (_is_number(when_alone) and 0 <= when_alone < 1e9):
        raise UsageError(f"when_alone is {when_alone!r}: give a number of seconds from 0 on, or None.")
    if not (type(max_held_bytes) is int and max_held_bytes >= 0):
        raise UsageError(f"max_held_bytes is {max_held_bytes!r}: give a whole number of bytes from 0 on.")
    return BreakpointSettings(
        wait=wait is not False and not read_only,
        wait_s=None if isinstance(wait, bool) else wait,
        when_alone=when_alone,
        may_change_values=bool(may_change_values),
        read_only=bool(read_only),
        max_held_bytes=max_held_bytes,
        filters=checked_filters(filters),
    )


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


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
      ident: Python's number of the thread; 0 if it is not known.
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
        ident: int = 0,
        function: object = None,
        find_details: Callable[[], Details] = Details,
        find_place: Callable[[], tuple[str, int]] = lambda: ("", 0),
        find_lines: Callable[[], Sequence[RunningLine]] = tuple,
    ) -> None:
        self.number = number
        self.kind = kind
        self.name = name
        self.thread = thread
        self.ident = ident
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
