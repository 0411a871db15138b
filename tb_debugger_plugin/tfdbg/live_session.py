"""Sessions and hooks that let the debugger's page in TensorBoard stop a program: names of its first debugger.

They took the address of a TensorBoard that listened. Now the program listens, and TensorBoard finds it
through the logdir, so an address is accepted and not needed.
"""

from __future__ import annotations

import functools
import logging
import os
import re
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from tensorflow.python.training import session_run_hook

from tb_debugger_plugin.capture import api as recorder
from tb_debugger_plugin.capture.tf_types import TfSession
from tb_debugger_plugin.live.program.api import DEFAULT_LOGDIR, Breakpoints, enable_at_calls
from tb_debugger_plugin.live.program.filters import Filter, checked_filters
from tb_debugger_plugin.tfdbg.asked import Asked
from tb_debugger_plugin.tfdbg.turns import ThreadNames
from tb_debugger_plugin.tfdbg.wrapped_session import WrappedSession

#: An address of TensorBoard, or several; or a logdir.
Addresses: TypeAlias = "str | os.PathLike[str] | Sequence[str] | None"
_ADDRESS: Final = re.compile(r"(grpc://)?(\[[0-9A-Fa-f:.]+\]|[\w.-]*):\d+")
#: The name of the filter of a hook, which the condition of its breakpoint has.
_FILTER: Final = "tensor_filter_fn"
_log = logging.getLogger("tb_debugger_plugin")


class TensorBoardDebugWrapperSession(WrappedSession):
    """A session whose runs can be stopped on the debugger's page in TensorBoard.

    Use::

        session = tfdbg.TensorBoardDebugWrapperSession(session, logdir="/path/to/logdir")

    Runs stop before and after, and at tensors. If the session has run its initialiser already, values can be
    read and not changed. All sessions of the program that are made later can be stopped, too.

    Args:
      sess: The session, or a `MonitoredSession`.
      grpc_debug_server_addresses: Addresses of TensorBoard, which are not needed any more; or the logdir.
      thread_name_filter: Only runs of threads whose names match this regular expression from the beginning
        are stopped before and after; None (the default) = all.
      send_traceback_and_source_code: Accepted as before. Both are always recorded.
      logdir: Folder for the recording. None (the default) = that of the recording that is on, else
        `tb_debugger_logs` in the current folder.
      **options: Other arguments of `tb_debugger_plugin.enable_breakpoints`.

    Raises:
      TypeError: ``sess`` is no session.
      UsageError: An argument cannot be used. It is a `ValueError`.
    """

    def __init__(
        self,
        sess: TfSession,
        grpc_debug_server_addresses: Addresses = None,
        thread_name_filter: str | None = None,
        send_traceback_and_source_code: bool = True,
        *,
        logdir: str | os.PathLike[str] | None = None,
        **options: object,
    ) -> None:
        super().__init__(sess, thread_name_filter)
        del send_traceback_and_source_code
        self._breakpoints, _ = _enable(grpc_debug_server_addresses, logdir, options)
        inner = sess
        while isinstance(inner, WrappedSession):
            inner = inner.session
        self._breakpoints.recording.adopt_session(inner)

    def _pass(self, call: Asked) -> object:
        if self._threads.include_this():
            return super()._pass(call)
        with self._breakpoints.unseen():
            return call.run_plainly()

    def _debug(self, call: Asked, number: int) -> object:
        del number
        return call.run_plainly()  # the recording has hooks in every session


class TensorBoardDebugHook(session_run_hook.SessionRunHook):
    """A hook with which the runs of a session can be stopped on the debugger's page in TensorBoard.

    Use::

        hooks = [tfdbg.TensorBoardDebugHook(logdir="/path/to/logdir")]
        with tf.compat.v1.train.MonitoredSession(hooks=hooks) as session:
            session.run(train)

    Args:
      grpc_debug_server_addresses: As for :class:`TensorBoardDebugWrapperSession`.
      thread_name_filter: The same.
      send_traceback_and_source_code: The same.
      logdir: The same.
      tensor_filter_fn: A function of a datum and an array, as of :meth:`DebugDumpDir.find`. The program
        stops at each tensor for which it returns True, as at a breakpoint whose condition is
        ``tensor_filter_fn``. None (the default) = no such breakpoint.
      **options: The same.

    Raises:
      UsageError: When the session is made: an argument cannot be used. It is a `ValueError`.
    """

    def __init__(
        self,
        grpc_debug_server_addresses: Addresses = None,
        thread_name_filter: str | None = None,
        send_traceback_and_source_code: bool = True,
        *,
        logdir: str | os.PathLike[str] | None = None,
        tensor_filter_fn: Filter | None = None,
        **options: Any,
    ) -> None:
        del send_traceback_and_source_code
        self._filters = checked_filters(None if tensor_filter_fn is None else {_FILTER: tensor_filter_fn})
        if self._filters:
            options = {**options, "filters": {**self._filters, **options.get("filters", {})}}
        self._addresses, self._logdir, self._options = grpc_debug_server_addresses, logdir, options
        self._threads = ThreadNames(thread_name_filter)
        self._breakpoints: Breakpoints | None = None
        self._is_own = False

    def begin(self) -> None:
        """Enable breakpoints before the session is made, unless another hook has."""
        self._breakpoints, self._is_own = _enable(self._addresses, self._logdir, self._options)
        if self._filters:
            refused = self._breakpoints.stop_where_passes(_FILTER)
            if refused:  # breakpoints were enabled before, without the filter
                _log.warning("The program does not stop by tensor_filter_fn: %s", refused)

    def before_run(self, run_context: object) -> None:
        """Leave out the runs of other threads.

        Args:
          run_context: What TensorFlow knows of the call.
        """
        if self._breakpoints is not None:
            self._breakpoints.leave_out_this_thread(not self._threads.include_this())

    def after_run(self, run_context: object, run_values: object) -> None:
        """See the runs of this thread again.

        Args:
          run_context: What TensorFlow knows of the call.
          run_values: What it returned.
        """
        if self._breakpoints is not None:
            self._breakpoints.leave_out_this_thread(False)

    def end(self, session: object) -> None:
        """End what this hook began.

        Args:
          session: The session.
        """
        if self._is_own and self._breakpoints is not None:
            self._breakpoints.close()


def _enable(
    addresses: Addresses, logdir: str | os.PathLike[str] | None, options: dict[str, Any]
) -> tuple[Breakpoints, bool]:
    """Return the breakpoints of the program, and whether they began here."""
    given = _as_logdir(addresses)
    on = recorder.running()
    root = logdir or given or (on.dump_root if on is not None else DEFAULT_LOGDIR)
    was_on = Breakpoints.current()
    made = enable_at_calls(root, **options)
    return made, made is not was_on


def _as_logdir(addresses: Addresses) -> str | None:
    """Return the folder that was given in the place of addresses; None if these are addresses."""
    if addresses is None:
        return None
    several = [addresses] if isinstance(addresses, (str, os.PathLike)) else list(addresses)
    if all(_ADDRESS.fullmatch(os.fspath(one)) for one in several):
        _say_that_none_is_needed()
        return None
    return os.fspath(several[0])


@functools.cache  # once in a process is enough
def _say_that_none_is_needed() -> None:
    _log.warning(
        "The debugger needs no address any more: start TensorBoard with --logdir alone, and it finds the "
        "program there. Give `logdir` to choose the folder."
    )
