"""A session that opens the shell before and after its calls.

Takes calls of ``Session.run``. A call that the user wants to see is dumped by TensorFlow's debug ops; when it
has run, the shell shows the dumps, which are then deleted.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from tensorflow.core.protobuf import config_pb2
from tensorflow.python.framework import errors

from tb_debugger_plugin.capture.tf_types import TfGraph, TfSession
from tb_debugger_plugin.index.cache import database_path, remove_unused
from tb_debugger_plugin.index.runs import find_runs
from tb_debugger_plugin.shell.program import Call, Detach, Leave, Resume, RunRequest
from tb_debugger_plugin.shell.settings import Settings, user_file
from tb_debugger_plugin.shell.shell import Shell
from tb_debugger_plugin.shell.tensor_filters import Predicate, TensorFilters
from tb_debugger_plugin.tfdbg.asked import Asked
from tb_debugger_plugin.tfdbg.conductor import Conductor
from tb_debugger_plugin.tfdbg.dumping_session import empty_folder, write_texts
from tb_debugger_plugin.tfdbg.profile import write_graphs, write_times
from tb_debugger_plugin.tfdbg.python_graph import PythonGraph
from tb_debugger_plugin.tfdbg.user_interface import UiType, opener
from tb_debugger_plugin.tfdbg.watches import Watches, WatchOptions
from tb_debugger_plugin.tfdbg.wrapped_session import WrappedSession, copied, run_watched

_PREFIX: Final = "tfdbg_"


class Running(NamedTuple):
    """A call between its beginning and its end.

    Attributes:
      asked: What it asks for.
      call: The same for the shell.
      request: How it is run.
      options: The ``RunOptions`` that it runs with; the program's own if it is not recorded.
      metadata: The ``RunMetadata`` to fill; None for none.
    """

    asked: Asked
    call: Call
    request: RunRequest
    options: Any
    metadata: Any


class _Watched(NamedTuple):
    """The watches of a graph as it was, for one choice of tensors."""

    graph: TfGraph
    version: int
    wanted: WatchOptions
    debug_options: Any


class LocalDebugger:
    """Opens the shell around the calls of one session; lives as long as the session or the hook.

    Args:
      dump_root: The folder for dumps, which must be empty or not exist; None = a temporary one.
      ui_type: The user interface.
      config_file_path: The file with the settings of the shell; None or False = the user's own.

    Attributes:
      filters: The tensor filters.
      lock: Held while a call is debugged: there is one terminal.

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
        self._folder = _dump_folder(dump_root)
        # Also at the end of a program that was interrupted.
        self._finalizer = weakref.finalize(self, _delete, self._folder)
        self.filters = TensorFilters()
        self.lock = threading.Lock()
        settings = Settings(_settings_file(config_file_path))
        self._shell = Shell(None, filters=self.filters, settings=settings)
        self._conductor = Conductor(self._shell, self._converse)
        self._python_graph = PythonGraph()
        self._graph: TfGraph | None = None
        self._watched: _Watched | None = None
        self._metadata: Any = None

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
        self._graph = graph
        call = Call(number, asked.what, False, asked.fetches, asked.targets, asked.feeds)
        request = self._conductor.before(call)
        if not request.is_recorded:
            return Running(asked, call, request, asked.options, asked.metadata)
        _delete(self._folder)  # what an interrupted call has left
        options = copied(asked.options)
        options.output_partition_graphs = True
        if request.is_profiled:
            options.trace_level = config_pb2.RunOptions.FULL_TRACE
        if not request.is_profiled or request.till_filter is not None:
            # Debug ops take time of their own.
            self._watch(graph, request, options, watches)
        metadata = config_pb2.RunMetadata() if asked.metadata is None else asked.metadata
        return Running(asked, call, request, options, metadata)

    def _watch(self, graph: TfGraph, request: RunRequest, options: Any, watches: Watches | None) -> None:
        wanted, url = _watch_options(request), f"file://{self._folder}"
        if watches is not None:
            watches.add(graph, wanted, url)
            watches.write(options, resets_disk_usage=True)
            return
        # The calls of a `run -f` all watch the same, and a large graph takes a while to list.
        if self._watched is None or self._watched[:3] != (graph, graph.version, wanted):
            watches, made = Watches(), config_pb2.RunOptions()
            watches.add(graph, wanted, url)
            watches.write(made, resets_disk_usage=True)
            self._watched = _Watched(graph, graph.version, wanted, made.debug_options)
        options.debug_options.MergeFrom(self._watched.debug_options)

    def end(self, running: Running, error: BaseException | None = None) -> None:
        """Take a call that has run, and perhaps open the shell.

        Args:
          running: What `begin` returned.
          error: What the call raised; None if it did not.

        Raises:
          SystemExit: The user left the shell.
        """
        self._metadata = running.metadata
        request = running.request
        is_profiled = request.is_recorded and request.is_profiled
        call = replace(running.call, is_over=True, error=error, is_profiled=is_profiled)
        try:
            if request.is_recorded:
                self._complete(running)
            self._conductor.after(call, request, self._folder if request.is_recorded else None)
        finally:
            _delete(self._folder)

    def _complete(self, running: Running) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        write_texts(self._folder, running.asked)
        if running.request.is_profiled:
            write_times(self._folder, running.call, running.metadata)

    def has_dumps(self) -> bool:
        """Whether TensorFlow has begun to dump: an error may come earlier."""
        return self._folder.is_dir()

    def _converse(self, shell: Shell) -> Resume | Leave | Detach:
        if shell.logdir is not None and self._graph is not None:
            # Only now, since most calls of `run -f` are never looked at.
            write_graphs(self._folder, self._metadata)
            self._python_graph.write_to(self._folder, self._graph)
        return self._open(shell)


def _settings_file(path: str | os.PathLike[str] | bool | None) -> Path:
    return Path(path).expanduser() if isinstance(path, (str, os.PathLike)) else user_file()


def _dump_folder(dump_root: str | os.PathLike[str] | None) -> Path:
    if dump_root is None:
        return Path(tempfile.mkdtemp(prefix=_PREFIX))
    return empty_folder(dump_root, "dump_root")


def _delete(folder: Path) -> None:
    if not folder.is_dir():
        return
    for run in find_runs(folder):
        # The next call has other tables, and nobody asks for these again.
        tables = database_path(run)
        if tables.exists():
            remove_unused(tables)
    shutil.rmtree(folder, ignore_errors=True)


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
    returns the error, as in TensorFlow's own wrapper. While one thread is in the shell, calls of other
    threads run without it.

    Args:
      sess: The session.
      dump_root: The folder for dumps, which must be empty or not exist; it is deleted after each call. None
        (the default) = a temporary folder.
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

    def _debug(self, call: Asked, number: int) -> Any:
        debugger = self._debugger
        # Waiting could block for ever: the call of the other thread may need the results of this one.
        if debugger.is_detached or not debugger.lock.acquire(blocking=False):
            return call.run_plainly()
        try:
            return _debugged(debugger, self.graph, call, number)
        finally:
            debugger.lock.release()


def _debugged(debugger: LocalDebugger, graph: TfGraph, call: Asked, number: int) -> Any:
    running = debugger.begin(graph, call, number)
    try:
        result = run_watched(call, running.options, running.metadata)
    except errors.OutOfRangeError as error:
        # The end of the data, which most programs expect.
        if not running.request.is_recorded:
            raise
        return _failed(debugger, running, error)
    except errors.OpError as error:
        return _failed(debugger, running, error)
    debugger.end(running)
    return result


def _failed(debugger: LocalDebugger, running: Running, error: errors.OpError) -> errors.OpError:
    is_returned = running.request.is_recorded and debugger.has_dumps()
    if is_returned or not running.request.is_recorded:
        debugger.end(running, error)
    if not is_returned:
        raise error
    return error
