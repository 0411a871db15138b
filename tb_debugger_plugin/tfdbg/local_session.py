"""A session that opens the shell before and after its calls.

Takes calls of ``Session.run``. A call that the user wants to see is dumped by TensorFlow's debug ops; when it
has run, the shell shows the dumps, which are then deleted.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tensorflow.core.protobuf import config_pb2
from tensorflow.core.util import event_pb2
from tensorflow.python.framework import errors

from tb_debugger_plugin.capture.session_runs import op_times
from tb_debugger_plugin.capture.tf_types import TfGraph, TfSession
from tb_debugger_plugin.events.dumps.datum import Predicate
from tb_debugger_plugin.events.dumps.names import CALL_TIMES, GRAPH, device_folder
from tb_debugger_plugin.events.framing import frame
from tb_debugger_plugin.events.messages import DebugEvent, Message, SessionRequest
from tb_debugger_plugin.shell.commands.table import COMMANDS
from tb_debugger_plugin.shell.program import Call, Detach, Leave, Resume, RunRequest
from tb_debugger_plugin.shell.settings import Settings, user_file
from tb_debugger_plugin.shell.shell import Shell
from tb_debugger_plugin.shell.tensor_filters import TensorFilters
from tb_debugger_plugin.tfdbg.asked import Asked, RunMetadata, RunOptions
from tb_debugger_plugin.tfdbg.call_folders import CallFolder, CallFolders, Watched
from tb_debugger_plugin.tfdbg.conductor import Conductor
from tb_debugger_plugin.tfdbg.dumping_session import write_texts
from tb_debugger_plugin.tfdbg.python_graph import PythonGraph
from tb_debugger_plugin.tfdbg.turns import thread_name
from tb_debugger_plugin.tfdbg.user_interface import UiType, opener
from tb_debugger_plugin.tfdbg.watches import Watches, WatchOptions
from tb_debugger_plugin.tfdbg.wrapped_session import WrappedSession, copied, run_watched

# Writes what the ``RunMetadata`` of a call holds into its dump folder: graphs, and times of ops.
#
# Takes ``RunMetadata``. TensorFlow writes the graphs itself only when it first sees a folder; times are never
# in its dump folders.

#: The wrapper of a session knows one session.
_SESSION = 1


def write_graphs(folder: Path, metadata: RunMetadata) -> None:
    """Write the partition graphs of a call, unless TensorFlow has written them.

    Args:
      folder: The folder of the call.
      metadata: Its ``RunMetadata``, which needs ``output_partition_graphs``.
    """
    for graph in metadata.partition_graphs:
        device = next((node.device for node in graph.node if node.device), None)
        if device is None:
            continue
        place = folder / device_folder(device)
        place.mkdir(exist_ok=True)
        if not any(place.glob(f"{GRAPH}*")):
            event = event_pb2.Event(graph_def=graph.SerializeToString())
            (place / f"{GRAPH}hash0_{int(time.time() * 1e6)}").write_bytes(event.SerializeToString())


def write_times(folder: Path, call: Call, metadata: RunMetadata) -> None:
    """Write the times of the ops of a call that was profiled.

    Args:
      folder: The folder of the call.
      call: The call.
      metadata: Its ``RunMetadata``.
    """
    records = b"".join(frame(event.SerializeToString()) for event in _events(call, metadata))
    (folder / CALL_TIMES).write_bytes(records)


def _events(call: Call, metadata: RunMetadata) -> Iterator[Message]:
    request = DebugEvent()
    request.session_request.CopyFrom(
        SessionRequest(number=call.number, fetches=call.fetches, targets=call.targets)
    )
    yield request
    run = DebugEvent(wall_time=time.time())
    begins = [node.all_start_micros for device in metadata.step_stats.dev_stats for node in device.node_stats]
    run.session_run.session, run.session_run.run = _SESSION, call.number
    run.session_run.request = call.number
    run.session_run.begin_time = min(begins, default=0) / 1e6
    yield run
    yield from op_times(metadata.step_stats, _SESSION, call.number)


class Running(NamedTuple):
    """A call between its beginning and its end.

    Attributes:
      asked: What it asks for.
      call: The same for the shell.
      request: How it is run.
      options: The ``RunOptions`` that it runs with; the program's own if it is not recorded.
      metadata: The ``RunMetadata`` to fill; None for none.
      graph: The graph of the session.
      folder: The folder of its dumps; None if it is not recorded.
    """

    asked: Asked
    call: Call
    request: RunRequest
    options: RunOptions | None
    metadata: RunMetadata | None
    graph: TfGraph
    folder: CallFolder | None = None


class LocalDebugger:
    """Opens the shell around the calls of one session; lives as long as the session or the hook.

    Calls of several threads may run at the same time, and each may stop. While the shell is open in one
    thread, the others wait where their calls begin or end.

    Args:
      dump_root: The folder for dumps, which must be empty or not exist; None or "" = a temporary one.
      ui_type: The user interface.
      config_file_path: The file with the settings of the shell; None or False = the user's own.

    Attributes:
      filters: The tensor filters.

    Raises:
      ValueError: The folder is a file, or not empty; or there is no such user interface.
    """

    def __init__(
        self,
        dump_root: str | os.PathLike[str] | None,
        ui_type: UiType,
        config_file_path: str | os.PathLike[str] | bool | None,
    ) -> None:
        self._open = opener(ui_type)
        self._folders = CallFolders(dump_root)
        self.filters = TensorFilters()
        self._terminal = threading.Lock()  # there is one; guards the following fields
        settings = Settings(_settings_file(config_file_path))
        self._shell = Shell(COMMANDS, None, filters=self.filters, settings=settings)
        self._conductor = Conductor(self._shell, self._converse)
        self._python_graph = PythonGraph()
        self._running: Running | None = None

    @property
    def is_detached(self) -> bool:
        """Whether the user let the program go on without the shell."""
        return self._conductor.is_detached

    def begin(self, graph: TfGraph, asked: Asked, number: int, watches: Watches | None = None) -> Running:
        """Say how a call is run; may open the shell before.

        Args:
          graph: The graph of the session.
          asked: The call.
          number: Its number, from 1.
          watches: Takes the watched tensors, which several hooks may share; None for a call of one debugger.

        Raises:
          SystemExit: The user left the shell.
        """
        call = Call(number, asked.what, False, asked.fetches, asked.targets, asked.feeds)
        call = replace(call, thread=thread_name())
        with self._terminal:
            request = self._conductor.before(call)
        if not request.is_recorded:
            return Running(asked, call, request, asked.options, asked.metadata, graph)
        folder = self._folders.take()
        options = copied(asked.options)
        options.output_partition_graphs = True
        if request.is_profiled:
            options.trace_level = config_pb2.RunOptions.FULL_TRACE
        if not request.is_profiled or request.till_filter is not None:
            # Debug ops take time of their own.
            _watch(graph, request, options, watches, folder)
        metadata = config_pb2.RunMetadata() if asked.metadata is None else asked.metadata
        return Running(asked, call, request, options, metadata, graph, folder)

    def end(self, running: Running, error: BaseException | None = None) -> None:
        """Take a call that has run, and perhaps open the shell.

        Args:
          running: What `begin` returned.
          error: What the call raised; None if it did not.

        Raises:
          SystemExit: The user left the shell.
        """
        request, folder = running.request, running.folder
        is_profiled = request.is_recorded and request.is_profiled
        call = replace(running.call, is_over=True, error=error, is_profiled=is_profiled)
        try:
            if folder is not None:
                _complete(running, folder.path)
            with self._terminal:
                self._running = running
                self._conductor.after(call, request, None if folder is None else folder.path)
        finally:
            self.forget(running)

    def forget(self, running: Running) -> None:
        """Delete the dumps of a call.

        Args:
          running: What `begin` returned.
        """
        if running.folder is not None:
            self._folders.give_back(running.folder)

    def _converse(self, shell: Shell) -> Resume | Leave | Detach:
        running = self._running
        if shell.logdir is not None and running is not None and running.folder is not None:
            # Only now, since most calls of `run -f` are never looked at.
            write_graphs(running.folder.path, running.metadata)
            self._python_graph.write_to(running.folder.path, running.graph)
        return self._open(shell)


def _complete(running: Running, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_texts(folder, running.asked)
    if running.request.is_profiled:
        write_times(folder, running.call, running.metadata)


def _settings_file(path: str | os.PathLike[str] | bool | None) -> Path:
    return Path(path).expanduser() if isinstance(path, (str, os.PathLike)) else user_file()


def _watch(
    graph: TfGraph, request: RunRequest, options: RunOptions, watches: Watches | None, folder: CallFolder
) -> None:
    wanted, url = _watch_options(request), f"file://{folder.path}"
    if watches is not None:
        watches.add(graph, wanted, url)
        watches.write(options, resets_disk_usage=True)
        return
    # The calls of a `run -f` all watch the same, and a large graph takes a while to list.
    if folder.watched is None or folder.watched[:3] != (graph, graph.version, wanted):
        watches, made = Watches(), config_pb2.RunOptions()
        watches.add(graph, wanted, url)
        watches.write(made, resets_disk_usage=True)
        folder.watched = Watched(graph, graph.version, wanted, made.debug_options)
    options.debug_options.MergeFrom(folder.watched.debug_options)


def _watch_options(request: RunRequest) -> WatchOptions:
    return WatchOptions(
        node_name_regex_allowlist=request.node_names,
        op_type_regex_allowlist=request.op_types,
        tensor_dtype_regex_allowlist=request.dtypes,
    )


class LocalCLIDebugWrapperSession(WrappedSession):
    """A session that opens the shell before and after its calls.

    Use::

        session = tfdbg.LocalCLIDebugWrapperSession(session)
        session.run(train)  # opens the shell: `run` goes on, `run -f has_inf_or_nan` until a tensor is bad

    An error of TensorFlow in a call that is recorded opens the shell at the op that failed; then ``run``
    returns the error, as in TensorFlow's own wrapper. Calls of all threads are debugged: while one thread is
    in the shell, the others wait.

    Args:
      sess: The session.
      dump_root: The folder for dumps, which must be empty or not exist. They are deleted after each call, and
        the folder if it did not exist. None (the default) or "" = a temporary folder.
      ui_type: ``"full"`` for a full screen, ``"plain"`` for lines; ``"auto"`` (the default) chooses by the
        terminal, and so do TensorFlow's names ``"readline"`` and ``"curses"``.
      thread_name_filter: Only calls of threads whose names match this regular expression from the beginning
        are debugged; None (the default) = all.
      config_file_path: The file with the settings of the shell; False (the default) = the user's own.

    Raises:
      TypeError: ``sess`` is no session.
      ValueError: The folder is a file, or not empty; or there is no such user interface.
    """

    def __init__(
        self,
        sess: TfSession,
        dump_root: str | os.PathLike[str] | None = None,
        ui_type: UiType = "auto",
        thread_name_filter: str | None = None,
        config_file_path: str | os.PathLike[str] | bool | None = False,
    ) -> None:
        super().__init__(sess, thread_name_filter)
        self._debugger = LocalDebugger(dump_root, ui_type, config_file_path)

    def add_tensor_filter(self, filter_name: str, tensor_filter: Predicate) -> None:
        """Add a tensor filter, for ``run -f NAME`` and ``lt -f NAME``.

        Args:
          filter_name: Its name.
          tensor_filter: A function of a datum and its value that says whether the tensor passes, as for
            :meth:`DebugDumpDir.find`.

        Raises:
          UsageError: The name is empty or holds spaces, or the filter cannot be called.
        """
        self._debugger.filters.add(filter_name, tensor_filter)

    def _debug(self, call: Asked, number: int) -> object:
        if self._debugger.is_detached:
            return call.run_plainly()
        return _debugged(self._debugger, self.graph, call, number)


def _debugged(debugger: LocalDebugger, graph: TfGraph, call: Asked, number: int) -> object:
    running = debugger.begin(graph, call, number)
    try:
        result = run_watched(call, running.options, running.metadata)
    except (errors.OutOfRangeError, errors.CancelledError) as error:
        # The end of the data, or of a thread that fills a queue, which most programs expect.
        if running.folder is None or running.call.thread:
            debugger.forget(running)
            raise
        return _failed(debugger, running, error)
    except errors.OpError as error:
        return _failed(debugger, running, error)
    except BaseException:
        debugger.forget(running)
        raise
    debugger.end(running)
    return result


def _failed(debugger: LocalDebugger, running: Running, error: errors.OpError) -> errors.OpError:
    if running.folder is None:
        debugger.end(running, error)
        raise error
    if not running.folder.has_dumps:  # TensorFlow refused the call
        debugger.forget(running)
        raise error
    debugger.end(running, error)
    return error
