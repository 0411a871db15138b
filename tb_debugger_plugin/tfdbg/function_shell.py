"""Opens the shell around the calls of functions that a program makes.

Takes each outermost call of a function, from TensorFlow's own methods, and each end of a step of a program
without functions; records them as the user of the shell wants; opens the shell before and after them. What a
call shows begins with the eager ops after the call before.

Invariants: the program computes the same results, and gets the same exceptions. After the shell nothing of it
is left in TensorFlow.
"""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final

import tensorflow as tf

from tb_debugger_plugin.capture.call_arguments import Arguments, name_of
from tb_debugger_plugin.capture.hooks.functions import FunctionCall, FunctionCalls
from tb_debugger_plugin.capture.hooks.hook import hidden
from tb_debugger_plugin.capture.observer import Observer
from tb_debugger_plugin.capture.stacks.calls import RunningCall as Running
from tb_debugger_plugin.errors import DebuggerError, user_message
from tb_debugger_plugin.events.dumps.datum import Predicate
from tb_debugger_plugin.shell.commands.table import COMMANDS
from tb_debugger_plugin.shell.program import Call, Detach, Leave, Resume, RunRequest
from tb_debugger_plugin.shell.shell import Shell
from tb_debugger_plugin.tfdbg.call_records import CallRecords
from tb_debugger_plugin.tfdbg.conductor import Conductor, Converse
from tb_debugger_plugin.tfdbg.dumping_session import empty_folder
from tb_debugger_plugin.tfdbg.turns import Turns, thread_name
from tb_debugger_plugin.tfdbg.user_interface import opener

#: What programs catch to go on: the end of a data set is no failure.
_NO_FAILURES: Final = (tf.errors.OutOfRangeError, tf.errors.CancelledError)


def is_failure(error: BaseException) -> bool:
    """Whether an error comes from an op that failed."""
    return isinstance(error, tf.errors.OpError) and not isinstance(error, _NO_FAILURES)


_FIRST = RunRequest()
_NO_TIMES = "TensorFlow gives the times of ops of sessions, not of functions, so there is no profile."
#: The shell of this process; it may have ended.
_current: FunctionShell | None = None


def shell(
    dump_root: str | os.PathLike[str] | None = None,
    *,
    ui: str | None = None,
    thread_name_filter: str | None = None,
    tensor_filters: Mapping[str, Predicate] | None = None,
) -> FunctionShell:
    """Open the shell before and after each call of a function inside a block.

    Use::

        with tb_debugger_plugin.tfdbg.shell():
            for batch in data:
                train_step(batch)  # a tf.function

    A call is one that Python makes, outside of other functions: also Keras's `fit` makes one for each step.
    In a program without functions, a call is what the program does until it calls
    `tb_debugger_plugin.step()`.

    Args:
      dump_root: Folder for the recordings of the calls at which the shell stops, which must be empty or new.
        None (the default): a temporary folder, which is deleted at the end.
      ui: The user interface, `"full"` or `"plain"`. None (the default): what the terminal can show; without a
        terminal, the program runs on without the shell.
      thread_name_filter: Stop only threads whose name matches this regular expression from its beginning.
        None (the default): all threads, one at a time.
      tensor_filters: Functions by name that `run -f` and `lt -f` can use. Each takes a datum and an array,
        and says whether the tensor passes.

    Returns:
      A context manager, which gives itself. Its `add_tensor_filter(name, predicate)` adds filters.

    Raises:
      UsageError: An argument cannot be used. It is a `ValueError`.
    """
    made = FunctionShell(dump_root, converse=_terminal(ui), thread_name_filter=thread_name_filter)
    for name, predicate in (tensor_filters or {}).items():
        made.add_tensor_filter(name, predicate)
    return made


def _terminal(ui: str | None) -> Converse | None:
    """Return what opens the shell at the terminal; None if there is none, and nothing else was chosen."""
    open_shell = opener(ui or "auto")
    if ui is None and not (sys.stdin is not None and sys.stdin.isatty()):
        print("tbdbg: There is no terminal, so the program runs on without the shell.", file=sys.stderr)
        return None
    return open_shell


class FunctionShell(Observer):
    """The shell around functions, from `start()` to `stop()`, or inside a block.

    Args:
      dump_root: As for :func:`shell`.
      converse: Opens the shell; None to let the program run on without.
      thread_name_filter: As for :func:`shell`.

    Raises:
      UsageError: An argument cannot be used.
    """

    def __init__(
        self,
        dump_root: str | os.PathLike[str] | None,
        *,
        converse: Converse | None,
        thread_name_filter: str | None = None,
    ) -> None:
        self._root = None if dump_root is None else empty_folder(dump_root, "dump_root")
        self._shell = Shell(COMMANDS, None)
        self._converse = converse
        self._conductor = Conductor(self._shell, self._open)
        self._turns = Turns(thread_name_filter)
        self._process = os.getpid()
        self._until: Running | None = None
        self._request: RunRequest | None = None
        self._number = 0
        self._num_calls_at_step = 0
        self._step: tuple[Call, RunRequest] | None = None
        self._records: CallRecords | None = None
        self._calls: FunctionCalls | None = None

    def add_tensor_filter(self, name: str, predicate: Predicate) -> None:
        """Add a tensor filter, or replace one.

        Args:
          name: Its name.
          predicate: Takes a datum and an array, and says whether the tensor passes.

        Raises:
          UsageError: The name is empty or has spaces, or the predicate is no function.
        """
        self._shell.filters.add(name, predicate)

    def __enter__(self) -> FunctionShell:
        """Start, and return this object."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop; before, the shell opens if what came after the last call has passed the filter."""
        try:
            if kind is None:
                self._look_at_rest()
        finally:
            self.stop()

    @property
    def is_on(self) -> bool:
        """Whether it still looks at calls: not before `start()`, and no longer when the user has left it."""
        return self._calls is not None

    @property
    def num_calls(self) -> int:
        """Number of calls that it has seen."""
        return self._number

    def start(self, until: Running | None = None) -> None:
        """Begin to look at calls; does nothing without a terminal, or inside another shell.

        Args:
          until: Stop when this call of the program has ended, also by an exception.

        Raises:
          RecordingError: The folder cannot be written.
        """
        global _current
        if self._converse is None or (_current is not None and _current.is_on):
            return
        _current = self
        self._until = until
        root = self._root or Path(tempfile.mkdtemp(prefix="tbdbg-"))
        self._records = CallRecords(root, is_temporary=self._root is None)
        self._records.recording.observe(self)
        self._calls = FunctionCalls(self._around)
        atexit.register(self.stop)

    def stop(self) -> None:
        """Remove everything from TensorFlow."""
        atexit.unregister(self.stop)
        if self._calls is not None:
            self._calls.remove()
            self._calls = None
        if self._records is not None:
            self._records.recording.leave(self)
            self._records.close()
            self._records = None

    # Calls of functions.

    @hidden
    def _around(self, called: FunctionCall) -> object:
        if not self._is_here() or not self._turns.begin():
            return called.run()
        try:
            return self._conduct(called)
        finally:
            self._turns.end()

    def _is_here(self) -> bool:
        """Whether this process is the one that the shell is for, and is still recorded."""
        if self._process != os.getpid() or self._records is None:
            return False
        if self._until is not None and not self._until.is_running():
            self.stop()
            return False
        if not self._records.is_on:
            print("tbdbg: The shell ends, because its recording has ended.", file=sys.stderr)
            self.stop()
            return False
        return True

    @hidden
    def _conduct(self, called: FunctionCall) -> object:
        call = self._next_call(name_of(called.function), Arguments(called))
        request = self._before(call)
        try:
            result = called.run()
        except Exception as error:
            if is_failure(error):
                self._after(replace(call, is_over=True, error=error), request)
            raise
        self._after(replace(call, is_over=True), request)
        return result

    def _next_call(self, what: str, feeds: Mapping[str, object] | None = None) -> Call:
        self._number += 1
        return Call(self._number, what, False, feeds={} if feeds is None else feeds, thread=thread_name())

    def _look_at_rest(self) -> None:
        request, records = self._request, self._records
        is_search = request is not None and request.till_filter is not None
        if request is not None and is_search and records is not None and records.has_bad:
            self._after(replace(self._next_call("the end of the block"), is_over=True), request)

    # Steps of a program without functions.

    def at_end_of_step(self) -> None:
        """Take the end of a step."""
        has_functions = self._number > self._num_calls_at_step
        if (has_functions and self._step is None) or not self._is_here() or not self._turns.begin():
            self._num_calls_at_step = self._number
            return
        try:
            call, request = self._step or (self._next_call("step 1"), _FIRST)
            self._after(replace(call, is_over=True), request)
            following = self._next_call(f"step {call.number + 1}")
            self._step = following, self._before(following)
        finally:
            self._turns.end()

    # What happens around a call.

    def _before(self, call: Call) -> RunRequest:
        with self._stopped_at_exit():
            request = self._request = self._conductor.before(call)
        if self._conductor.is_detached:
            self.stop()
        if self._records is not None:
            is_search = request.till_filter is not None and self._is_on_record(request.till_filter)
            self._records.begin(request, needs_values=not is_search)
        return request

    def _after(self, call: Call, request: RunRequest) -> None:
        records = self._records
        if records is None:
            return
        if self._has_to_be_seen(call, request, records):
            if request.is_profiled:
                call = replace(call, notes=(_NO_TIMES,))
            try:
                folder = records.cut(call.number, request) if request.is_recorded else None
            except (OSError, DebuggerError) as error:  # such as a full disk: not the program's
                print(f"tbdbg: The shell ends: {user_message(error)}.", file=sys.stderr)
                return self.stop()
            with self._stopped_at_exit():
                self._conductor.after(call, request, folder)
            if folder is not None and self._shell.logdir != folder:
                records.drop(folder)  # no tensor has passed
        if self._conductor.is_detached:
            self.stop()
        else:
            records.forget()

    @contextmanager
    def _stopped_at_exit(self) -> Iterator[None]:
        """Stop if the user ends the program: nobody else does where Keras calls us."""
        try:
            yield
        except SystemExit:
            self.stop()
            raise

    def _has_to_be_seen(self, call: Call, request: RunRequest, records: CallRecords) -> bool:
        """Whether a call may have to be shown: not if it is known that no tensor has passed the filter."""
        if call.error is not None or request.till_filter is None:
            return request.is_recorded or call.error is not None
        return not (self._is_on_record(request.till_filter) and records.has_bad is False)

    def _is_on_record(self, name: str) -> bool:
        """Whether a filter needs no values, because each record says what it asks for."""
        return name in self._shell.filters.names() and self._shell.filters.get(name).health == "bad"

    def _open(self, opened: Shell) -> Resume | Leave | Detach:
        assert self._converse is not None, "without it, no call is looked at"
        with self._turns.shell_open():
            return self._converse(opened)
