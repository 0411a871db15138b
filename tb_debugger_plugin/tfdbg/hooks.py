"""Hooks that debug the calls of a ``tf.compat.v1.train.MonitoredSession``.

Each takes the calls of the session and adds debug tensor watches to their ``RunOptions``. Several hooks of
one session watch together: TensorFlow keeps only the last watch of a tensor, so each hook repeats those of
the hooks before it.
"""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from tensorflow.python.framework import errors
from tensorflow.python.training import session_run_hook

from tb_debugger_plugin.events.dumps.datum import Predicate
from tb_debugger_plugin.tfdbg.asked import Asked, RunMetadata, RunOptions, of_run
from tb_debugger_plugin.tfdbg.dumping_session import DumpRoot, WatchFunction
from tb_debugger_plugin.tfdbg.local_session import LocalDebugger, Running
from tb_debugger_plugin.tfdbg.turns import ThreadNames
from tb_debugger_plugin.tfdbg.user_interface import UiType
from tb_debugger_plugin.tfdbg.watches import Watches

RunArgs: TypeAlias = session_run_hook.SessionRunArgs
RunContext: TypeAlias = session_run_hook.SessionRunContext
RunValues: TypeAlias = session_run_hook.SessionRunValues

#: The watches of the calls that run, by the context that all hooks of a session get.
_watches: Final[weakref.WeakKeyDictionary[RunContext, Watches]] = weakref.WeakKeyDictionary()


def _watches_of(run_context: RunContext) -> Watches:
    return _watches.setdefault(run_context, Watches())


def _asked(run_context: RunContext) -> Asked:
    given = run_context.original_args

    def start(options: RunOptions | None, metadata: RunMetadata | None) -> object:
        raise AssertionError("the session runs the calls of a hook")

    return of_run(Asked("MonitoredSession.run()", start), given.fetches, given.feed_dict)


class _Session(Protocol):
    """A session whose `run` is replaced for one run."""

    run: Callable[..., object]


class _Calls(threading.local):
    """The call of each thread that runs.

    Attributes:
      running: The call of this thread; None if none is debugged.
    """

    running: Running | None = None


class LocalCLIDebugHook(session_run_hook.SessionRunHook):
    """A hook that opens the shell before and after the calls of a session.

    Use::

        with tf.compat.v1.train.MonitoredSession(hooks=[tfdbg.LocalCLIDebugHook()]) as session:
            session.run(train)

    An error of TensorFlow in a call opens the shell at the op that failed; the session then raises it.

    Args:
      ui_type: The user interface, as for :class:`LocalCLIDebugWrapperSession`.
      dump_root: The folder for dumps, which must be empty or not exist. They are deleted after each call, and
        the folder if it did not exist. None (the default) or "" = a temporary folder.
      thread_name_filter: Only calls of threads whose names match this regular expression from the beginning
        are debugged; None (the default) = all.
      config_file_path: The file with the settings of the shell; None (the default) = the user's own.

    Raises:
      ValueError: The folder is a file, or not empty; or there is no such user interface.
    """

    def __init__(
        self,
        ui_type: UiType = "auto",
        dump_root: str | os.PathLike[str] | None = None,
        thread_name_filter: str | None = None,
        config_file_path: str | os.PathLike[str] | bool | None = None,
    ) -> None:
        self._debugger = LocalDebugger(dump_root, ui_type, config_file_path)
        self._threads = ThreadNames(thread_name_filter)
        self._numbers = itertools.count(1)
        self._calls = _Calls()

    def add_tensor_filter(self, filter_name: str, tensor_filter: Predicate) -> None:
        """Add a tensor filter, before or after the session is made.

        Args:
          filter_name: Its name.
          tensor_filter: As for :meth:`LocalCLIDebugWrapperSession.add_tensor_filter`.

        Raises:
          UsageError: The name is empty or holds spaces, or the filter cannot be called.
        """
        self._debugger.filters.add(filter_name, tensor_filter)

    def before_run(self, run_context: RunContext) -> RunArgs | None:
        """Add watches to a call, after what the user wants; may open the shell.

        Args:
          run_context: What TensorFlow knows of the call.
        """
        number = next(self._numbers)
        if self._calls.running is not None:
            self._debugger.forget(self._calls.running)  # an interrupted call
            self._calls.running = None
        if self._debugger.is_detached or not self._threads.include_this():
            return None
        graph = run_context.session.graph
        running = self._debugger.begin(graph, _asked(run_context), number, _watches_of(run_context))
        self._calls.running = running
        self._catch_errors(run_context.session, running)
        return RunArgs(None, options=running.options)

    def _catch_errors(self, session: _Session, running: Running) -> None:
        """Open the shell when the next run of a session fails: TensorFlow does not tell hooks of errors."""
        before = vars(session).get("run")
        run = session.run

        def run_once(*args: object, **kwargs: object) -> object:
            if before is None:
                del session.run
            else:
                session.run = before
            try:
                return run(*args, **kwargs)
            except errors.OutOfRangeError:
                raise  # the end of the data
            except errors.OpError as error:
                if self._calls.running is running:
                    self._calls.running = None
                    self._debugger.end(running, error)
                raise

        session.run = run_once

    def after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        """Take a call that has run; may open the shell.

        Args:
          run_context: What TensorFlow knows of the call.
          run_values: What it returned.
        """
        running, self._calls.running = self._calls.running, None
        if running is not None:
            self._debugger.end(running._replace(metadata=run_values.run_metadata))


class DumpingDebugHook(session_run_hook.SessionRunHook):
    """A hook that dumps the tensors of each call.

    Use::

        with tf.compat.v1.train.MonitoredSession(hooks=[tfdbg.DumpingDebugHook("/path/to/dumps")]) as session:
            session.run(train)

    Args:
      session_root: The folder that takes a folder for each call; it must be empty or not exist.
      watch_fn: A function of the fetches and the feeds of a call that returns :class:`WatchOptions`, or a
        tuple of their values; None (the default) = all tensors are dumped.
      thread_name_filter: Only calls of threads whose names match this regular expression from the beginning
        are dumped; None (the default) = all.

    Raises:
      TypeError: ``watch_fn`` cannot be called.
      ValueError: The folder is a file, or not empty.
    """

    def __init__(
        self,
        session_root: str | os.PathLike[str],
        watch_fn: WatchFunction | None = None,
        thread_name_filter: str | None = None,
    ) -> None:
        self._root = DumpRoot(session_root, watch_fn)
        self._threads = ThreadNames(thread_name_filter)

    def before_run(self, run_context: RunContext) -> RunArgs | None:
        """Add watches to a call.

        Args:
          run_context: What TensorFlow knows of the call.
        """
        if not self._threads.include_this():
            return None
        watches, options = _watches_of(run_context), RunOptions()
        number = self._root.watch(run_context.session.graph, _asked(run_context), watches)
        watches.write(options, resets_disk_usage=number == 0)
        return RunArgs(None, options=options)
