"""A session that dumps the tensors of each call into a folder of its own.

Takes calls of ``Session.run``, and writes a session root with a folder ``run_<microseconds>_<counter>`` for
each call, in the layout of TensorFlow's own wrapper.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

from tensorflow.core.util import event_pb2
from tensorflow.python.framework import errors

from tb_debugger_plugin.capture.tf_types import TfGraph, TfSession
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.dumps.names import FEEDS, FETCHES
from tb_debugger_plugin.tfdbg.asked import Asked
from tb_debugger_plugin.tfdbg.python_graph import PythonGraph
from tb_debugger_plugin.tfdbg.watches import Watches, WatchOptions
from tb_debugger_plugin.tfdbg.wrapped_session import WrappedSession, copied, run_watched

#: Says which tensors of a call are dumped: takes its fetches and feeds.
WatchFunction: TypeAlias = Callable[[Any, Any], "WatchOptions | tuple[Any, ...]"]
_GIVE: Final = "Give an empty folder, or a new one."


class DumpRoot:
    """A session root; lives as long as the session or the hook that writes into it.

    Args:
      session_root: The folder, which must be empty or not exist.
      watch_fn: Says which tensors of a call are dumped; None = all.

    Raises:
      ValueError: The folder is a file, or not empty.
      TypeError: ``watch_fn`` cannot be called.
    """

    def __init__(self, session_root: str | os.PathLike[str], watch_fn: WatchFunction | None) -> None:
        if watch_fn is not None and not callable(watch_fn):
            raise TypeError("watch_fn is not callable: give a function of fetches and feeds.")
        self._folder = empty_folder(session_root, "session_root")
        self._folder.mkdir(parents=True, exist_ok=True)
        self._watch_fn = watch_fn
        self._counter = itertools.count()
        self._python_graph = PythonGraph()

    def watch(self, graph: TfGraph, call: Asked, watches: Watches) -> int:
        """Make the folder of a call, and watch its tensors.

        Args:
          graph: The graph of the session.
          call: The call.
          watches: Takes the tensors.

        Returns:
          The number of the call in this session root, from 0.
        """
        self._python_graph.append_to(self._folder, graph)
        number = next(self._counter)
        folder = self._folder / f"run_{int(time.time() * 1e6)}_{number}"
        folder.mkdir()
        write_texts(folder, call)
        watches.add(graph, self._options(call), f"file://{folder}")
        return number

    def _options(self, call: Asked) -> WatchOptions:
        if self._watch_fn is None:
            return WatchOptions()
        options = self._watch_fn(*call.raw)
        return options if isinstance(options, WatchOptions) else WatchOptions(*options)


def empty_folder(path: str | os.PathLike[str], argument: str) -> Path:
    """Return a folder that is empty or does not exist.

    Args:
      path: The folder.
      argument: The name of the argument, for the message.

    Raises:
      UsageError: It is a file, or not empty. It is a `ValueError`.
    """
    folder = Path(path).expanduser().absolute()
    if folder.is_dir():
        if any(folder.iterdir()):
            raise UsageError(f"{argument} path points to a non-empty directory: {folder}. {_GIVE}")
    elif folder.exists():
        raise UsageError(f"{argument} path points to a file: {folder}. {_GIVE}")
    return folder


def write_texts(folder: Path, call: Asked) -> None:
    """Write the files that say what a call fetches and feeds.

    Args:
      folder: The folder of the call.
      call: The call.
    """
    for name, text in zip((FETCHES, FEEDS), call.texts, strict=True):
        event = event_pb2.Event()
        event.log_message.message = text
        (folder / name).write_bytes(event.SerializeToString())


class DumpingDebugWrapperSession(WrappedSession):
    """A session that dumps the tensors of each call.

    Use::

        session = tfdbg.DumpingDebugWrapperSession(session, "/path/to/dumps")
        session.run(train)
        # then: tbdbg shell /path/to/dumps, or tensorboard --logdir /path/to/dumps

    Args:
      sess: The session.
      session_root: The folder that takes a folder for each call; it must be empty or not exist.
      watch_fn: A function of the fetches and the feeds of a call that returns :class:`WatchOptions`, or a
        tuple of their values; None (the default) = all tensors are dumped.
      thread_name_filter: Only calls of threads whose names match this regular expression from the beginning
        are dumped; None (the default) = all.
      pass_through_operrors: Whether an error of TensorFlow is raised. By default ``run`` returns it, as
        TensorFlow's own wrapper does.

    Raises:
      TypeError: ``sess`` is no session, or ``watch_fn`` cannot be called.
      ValueError: The folder is a file, or not empty.
    """

    def __init__(
        self,
        sess: TfSession,
        session_root: str | os.PathLike[str],
        watch_fn: WatchFunction | None = None,
        thread_name_filter: str | None = None,
        pass_through_operrors: bool | None = None,
    ) -> None:
        super().__init__(sess, thread_name_filter)
        self._root = DumpRoot(session_root, watch_fn)
        self._raises = bool(pass_through_operrors)

    def _debug(self, call: Asked, number: int) -> object:
        watches = Watches()
        is_first = self._root.watch(self.graph, call, watches) == 0
        options = copied(call.options)
        watches.write(options, resets_disk_usage=is_first)
        try:
            return run_watched(call, options, call.metadata)
        except errors.OpError as error:
            if self._raises:
                raise
            return error
