"""The functions that users call so that debuggers can stop their program.

Invariants: a process has at most one program that can be stopped, the one of its recording; it ends with the
recording. Nothing listens unless one of these functions was called. A forked child has no part in it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tb_debugger_plugin import native
from tb_debugger_plugin.capture import api as recorder
from tb_debugger_plugin.capture.observer import Observer
from tb_debugger_plugin.capture.options import absolute, is_remote
from tb_debugger_plugin.capture.recording import Recording
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.live.messages import discovery
from tb_debugger_plugin.live.messages.key import notebook_words
from tb_debugger_plugin.live.messages.messages import Command
from tb_debugger_plugin.live.program.address import description, published, with_port, written
from tb_debugger_plugin.live.program.calls import CallHooks
from tb_debugger_plugin.live.program.filters import Filter
from tb_debugger_plugin.live.program.interface import (
    MAX_HELD_BYTES,
    WHEN_ALONE_S,
    BreakpointSettings,
    checked_settings,
)
from tb_debugger_plugin.live.program.interrupts import Interrupts

if TYPE_CHECKING:
    from tb_debugger_plugin.live.program.controller import Controller

_log = logging.getLogger("tb_debugger_plugin")
#: Arguments of a public function by name.
Arguments: TypeAlias = dict[str, Any]
#: Folder of the recording where a function needs none.
DEFAULT_LOGDIR: Final = "tb_debugger_logs"
#: Arguments that belong to breakpoints, in functions that also take those of a recording.
OWN_ARGUMENTS: Final = (
    *("address", "wait", "when_alone", "may_change_values", "read_only", "max_held_bytes", "filters"),
)
#: Those of them that a recording without breakpoints has too.
SHARED_ARGUMENTS: Final = ("max_held_bytes",)
#: The program of this process that can be stopped; it may have ended.
_current: Breakpoints | None = None


class Breakpoints(Observer):
    """A program that debuggers can stop, until `close()`. `enable_breakpoints` returns it.

    Use::

        with tb_debugger_plugin.enable_breakpoints("/path/to/logdir"):
            train()

    Args:
      recording: The recording of the program.
      settings: What its debuggers may do.
      address: Where it listens; None for a free port of this machine.

    Attributes:
      recording: The recording, which goes on as always.
      address: Where debuggers find the program; they read it from a file in the dump root.
    """

    def __init__(self, recording: Recording, settings: BreakpointSettings, address: str | None) -> None:
        self.recording = recording
        self._settings = settings
        self._process = os.getpid()
        self._lock = threading.Lock()  # guards _is_on
        self._is_on = True
        self._owns_recording = False
        self._calls: CallHooks | None = None
        self._controller = _make_controller(settings, self)
        # Imported here: gRPC is needed only where something listens.
        from tb_debugger_plugin.live.program.server import Server

        secret = discovery.new_secret()
        with contextlib.ExitStack() as failed:
            failed.callback(self._controller.close)
            self._server = Server(self._controller, secret, with_port(address))
            failed.callback(self._server.close)
            self.address = published(address, self._server.port)
            self._described = description(self.address, secret, recording)
            self._file = written(Path(recording.dump_root), self._described)
            failed.pop_all()
        self._calls = CallHooks(
            recording, self._controller, self._before_first_call, waits_at_ops=settings.waits_at_ops
        )
        self._interrupts = Interrupts(self._controller, self._is_paused)
        self._interrupts.install()
        recording.observe(self)

    @staticmethod
    def current() -> Breakpoints | None:
        """Return those of this process; None if there are none."""
        return _current if _current is not None and _current.is_on else None

    @property
    def is_on(self) -> bool:
        """Whether debuggers can still find the program."""
        return self._is_on and self.recording.on and self._process == os.getpid()

    @property
    def controller(self) -> Controller:
        """What stops the program."""
        return self._controller

    def close(self) -> None:
        """Let the program run on, and let no debugger find it again. Further calls do nothing.

        The recording goes on if it began before, as with `disable_dump_debug_info`.
        """
        if self._process != os.getpid():
            return
        with self._lock:
            was_on, self._is_on = self._is_on, False
        if not was_on:
            return
        ends: tuple[Callable[[], None], ...] = (
            self._remove_file,
            self._controller.close,
            self._remove_hooks,
            self._interrupts.remove,
            self._server.close,
        )
        for end in ends:
            try:
                end()
            except Exception as error:  # the program must not see any error
                _log.debug("Breakpoints cannot be ended as they should be:", exc_info=error)
        if self._owns_recording:
            self.recording.finish()

    def at_end(self) -> None:
        """Close: the recording ends."""
        self.close()

    def _remove_file(self) -> None:
        discovery.remove(self._file, self._described)

    def _remove_hooks(self) -> None:
        if self._calls is not None:
            self._calls.remove()

    def own_recording(self) -> None:
        """End the recording in `close()`, too: it began for the breakpoints."""
        self._owns_recording = True

    def abandon(self) -> None:
        """Let go of everything in a forked child: its parent goes on, and only that can be stopped."""
        self._is_on = False
        self._remove_hooks()
        self._interrupts.remove()
        self._server.abandon()

    def stop_where_passes(self, name: str) -> str:
        """Set a breakpoint at any tensor that passes a filter, unless there is one, kept from the last run.

        Args:
          name: The name of the filter.

        Returns:
          Why that cannot be; empty if it can.
        """
        if any(one.condition == name for one in self._controller.state().breakpoints):
            return ""
        command = Command(set_breakpoint={"condition": name, "enabled": True})
        outcome = self._controller.control(command)
        return "" if outcome.done else str(outcome.sentence)

    @contextlib.contextmanager
    def unseen(self) -> Iterator[None]:
        """Do not stop before and after the calls that this thread makes inside the block."""
        self.leave_out_this_thread(True)
        try:
            yield
        finally:
            self.leave_out_this_thread(False)

    def leave_out_this_thread(self, is_left_out: bool) -> None:
        """Do not stop before and after the calls of this thread, or do again.

        Args:
          is_left_out: Whether its calls are left out.
        """
        if self._calls is not None:
            self._calls.leave_out_this_thread(is_left_out)

    # What the controller may do beside stopping the program, in any thread.

    def flush(self) -> None:
        """Write out what was recorded so far, so that the page sees everything up to a pause."""
        self.recording.FlushExecutionFiles()

    def see_eager_ops(self, wanted: bool) -> None:
        """Call `eager.after_op` of the controller from now on, or no longer; at first it is not called.

        Args:
          wanted: Whether it is called. A program that nobody debugs pays for no such call.
        """
        if self._calls is not None:
            self._calls.see_eager_ops(wanted)

    def tell_calls_apart(self, wanted: bool) -> None:
        """Let the gate know from now on for which call a graph runs, or no longer; at first it does not.

        Args:
          wanted: Whether it knows. A program that nothing may stop pays for no such thing.
        """
        if self._calls is not None:
            self._calls.tell_calls_apart(wanted)

    def tell_waiting(self, *, is_over: bool) -> None:
        """Print that the program still waits for a debugger, where nobody is at a terminal, or runs on.

        Args:
          is_over: Whether it runs on.
        """
        if is_over:
            _tell("No debugger came in time: the program runs on.")
        elif not _is_at_terminal():
            _tell(
                f"The program is still waiting for the debugger at {self.recording.dump_root}. Without a "
                "debugger, run it with wait=False or a number of seconds (tbdbg run --no-wait, --wait S)."
            )

    def _is_paused(self) -> bool:
        return self._controller.is_paused or (self._calls is not None and self._calls.is_at_first)

    def _before_first_call(self) -> None:
        if self._settings.wait:
            most = self._settings.wait_s
            limit = "" if most is None else f" for at most {most:g} seconds"
            _tell(
                f"The program is waiting for the debugger at {self.recording.dump_root}{limit} "
                f"(tensorboard --logdir {self.recording.dump_root}); Ctrl-C runs on without."
                f"{notebook_words()}"
            )

    def __enter__(self) -> Breakpoints:
        """Return this object."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End at the end of the block."""
        if kind is not None and self._owns_recording:
            self.recording.close()  # without acting on alert rules: the error of the block comes first
        self.close()


def enable_breakpoints(
    logdir: str | os.PathLike[str],
    *,
    address: str | None = None,
    wait: bool | float = True,
    when_alone: float | None = WHEN_ALONE_S,
    may_change_values: bool = False,
    read_only: bool = False,
    max_held_bytes: int = MAX_HELD_BYTES,
    filters: Mapping[str, Filter] | None = None,
    **options: Any,
) -> Breakpoints:
    """Let the debugger's page in TensorBoard stop this program from now on, and record the program.

    Call it once, at any time; TensorBoard may be started before or after::

        tb_debugger_plugin.enable_breakpoints("/path/to/logdir")
        ...  # the program; then: tensorboard --logdir /path/to/logdir

    The program listens on this machine only, at a free port, and tells address and secret in a file of the
    logdir that only its user can read. When the program ends, or the recording does, the file is removed.

    Args:
      logdir: Folder for the event files, on this machine: the logdir of TensorBoard, or a folder below it. If
        a recording to it is on, and no further options are given, the program is recorded as before.
      address: Where to listen: `"host:port"`, `"host"` or `":port"`. None (the default): at a free port, for
        programs of this machine. What travels to other machines can be read on the way.
      wait: If True (the default), the program waits before its first call, or its first eager op if that
        comes before, until a debugger lets it go on, or until Ctrl-C. If False, it runs until a debugger
        stops it. A number: it waits so many seconds at most for a debugger to come. Calls are those of
        functions that Python makes, runs of sessions, and, in a program without either, the steps between
        calls of `step()`.
      when_alone: Seconds that a paused program waits after its last debugger has left, before it runs on
        without stopping again. None: until a debugger is back. The default: 5.
      may_change_values: Whether debuggers may change the value at which the program is stopped.
      read_only: Whether debuggers may only look: commands are refused. The program then does not wait.
      max_held_bytes: Bytes of values of the current call that are held for debuggers; the oldest are dropped
        first. The default: 1 GiB.
      filters: Functions of a datum and its array, as of :meth:`DebugDumpDir.find`, by name. A breakpoint
        whose condition is such a name stops where the function returns True. It is asked only of the tensors
        that the breakpoint chooses, and not inside functions that XLA compiles.
      **options: Arguments of `enable_dump_debug_info`. Unless given, `circular_buffer_size` is -1, and
        `tensor_debug_mode` is `"FULL_NUMERICS"`, whose numbers are those that conditions use; without the
        native library, `"FULL_HEALTH"`.

    Returns:
      An object whose `close()` ends this, and the recording if that began here. It is a context manager, too.

    Raises:
      UsageError: An argument cannot be used.
      RecordingError: The folder cannot be written, or the address is in use.
    """
    settings = checked_settings(
        wait=wait,
        when_alone=when_alone,
        may_change_values=may_change_values,
        read_only=read_only,
        max_held_bytes=max_held_bytes,
        filters=filters,
    )
    return begin(logdir, replace(settings, waits_at_ops=settings.wait), address, **options)


def enable_at_calls(logdir: str | os.PathLike[str], **options: Any) -> Breakpoints:
    """Enable breakpoints in a program that is about to make calls: it waits before these, not before ops.

    Args:
      logdir: Folder for the event files.
      **options: Arguments of `enable_breakpoints`.
    """
    own = take_own(options, is_interactive=True)
    address = own.pop("address", None)
    return begin(logdir, checked_settings(**own), address, **options)


def begin(
    logdir: str | os.PathLike[str],
    settings: BreakpointSettings,
    address: str | None = None,
    **options: object,
) -> Breakpoints:
    """Enable breakpoints: see `enable_breakpoints`.

    Args:
      logdir: Folder for the event files.
      settings: What debuggers may do.
      address: Where to listen.
      **options: Arguments of `enable_dump_debug_info`.
    """
    global _current
    root = absolute(logdir)
    if is_remote(root):
        raise UsageError(
            f"Breakpoints need a logdir on this machine, not {root}: debuggers find the program by a file "
            "that only its user can read."
        )
    with recorder.current_lock:
        before = recorder.running()
        has_same_root = before is not None and before.dump_root == root
        if _current is not None and _current.is_on and has_same_root and not options:
            return _current
        recording = before
        if recording is None or not has_same_root or options:
            with recorder.interactive():
                recording = recorder.enable_dump_debug_info(root, **{**_defaults(), **options})
        if _current is not None and _current.is_on:
            if recording is before:
                return _current
            _current.close()
        if recording is before:
            recording.make_interactive()
        try:
            made = Breakpoints(recording, settings, address)
        except BaseException:
            if recording is not before:
                recording.close()
            raise
        if recording is not before:
            made.own_recording()
        _current = made
        return made


@contextlib.contextmanager
def record(
    logdir: str | os.PathLike[str], mode: str | None = None, *, interactive: bool = False, **options: Any
) -> Iterator[Recording]:
    """Record what the program computes inside a block, and write out all files at its end.

    If a recording to the same folder is on, the block is part of that recording, which goes on afterwards. A
    recording to another folder ends where the block begins, as with `enable_dump_debug_info`, with a line in
    the log.

    Use::

        with tb_debugger_plugin.record("/path/to/logdir"):
            model.fit(...)

    Args:
      logdir: Folder for the event files; see `enable_dump_debug_info`.
      mode: What to record of each tensor; see `enable_dump_debug_info`. None (the default): `"FULL_HEALTH"`,
        and `"FULL_NUMERICS"` if the block is interactive.
      interactive: Whether debuggers can stop the program inside the block; see `enable_breakpoints`.
      **options: Other arguments of `enable_dump_debug_info`; `circular_buffer_size` is -1 unless given, which
        keeps everything, up to `max_bytes`. If the block is interactive, those of `enable_breakpoints`, too.

    Yields:
      The recording.

    Raises:
      UsageError: An argument cannot be used.
      RecordingError: The folder cannot be written.
    """
    if mode is not None:
        options["tensor_debug_mode"] = mode
    if interactive:
        with enable_breakpoints(logdir, **options) as breakpoints:
            yield breakpoints.recording
        return
    take_own(options, is_interactive=False)
    arguments: Arguments = {"tensor_debug_mode": "FULL_HEALTH", "circular_buffer_size": -1, **options}
    with recorder.current_lock:
        before = recorder.running()
        recording = recorder.enable_dump_debug_info(logdir, **arguments)
    try:
        yield recording
    except BaseException:
        if recording is not before:
            recording.close()
        raise
    if recording is not before:
        recording.finish()


def take_own(options: Arguments, *, is_interactive: bool) -> Arguments:
    """Take the arguments of breakpoints out of those of a recording.

    Args:
      options: All arguments; only those of the recording are left.
      is_interactive: Whether there are breakpoints.

    Raises:
      UsageError: There are none, but some of their arguments were given.
    """
    shared = () if is_interactive else SHARED_ARGUMENTS  # then they are the recording's
    own: Arguments = {
        name: options.pop(name) for name in OWN_ARGUMENTS if name in options and name not in shared
    }
    if own and not is_interactive:
        raise UsageError(f"{', '.join(own)}: only for interactive=True.")
    return own


def _make_controller(settings: BreakpointSettings, program: Breakpoints) -> Controller:
    # Imported here: most recordings are not interactive.
    from tb_debugger_plugin.live.program.controller import Controller

    return Controller(settings, program)


def _defaults() -> Arguments:
    has_numbers = native.load() is not None
    if not has_numbers:
        _say_what_does_not_stop()
    return {
        "tensor_debug_mode": "FULL_NUMERICS" if has_numbers else "FULL_HEALTH",
        "circular_buffer_size": -1,
    }


def _say_what_does_not_stop() -> None:
    _log.warning(
        "The native library is missing: %s. The debugger can stop the program at calls and at eager ops, but "
        "not at tensors inside graphs, and conditions have no minimum, maximum, mean and variance.",
        native.unavailable_reason(),
    )


def _tell(sentence: str) -> None:
    print(f"tbdbg: {sentence}", file=sys.stderr, flush=True)


def _is_at_terminal() -> bool:
    try:
        return sys.stdin is not None and sys.stdin.isatty()
    except (ValueError, OSError):  # it is closed
        return False


def _abandon_in_child() -> None:
    """Let go of the program in a forked child, which must never stop."""
    if _current is not None and _current._is_on:
        _current.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_in_child)
