"""Folders for the dumps of calls, which are deleted when the shell has shown them.

TensorFlow optimizes the graph of a call anew for each folder, so calls use the same one. Calls of several
threads that run at the same time have one each.

Invariant: only what a debugger writes is deleted, and a folder only if it was made here.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Final, NamedTuple

from tensorflow.core.protobuf import debug_pb2

from tb_debugger_plugin.capture.tf_types import TfGraph
from tb_debugger_plugin.events.dumps.names import is_of_debugger
from tb_debugger_plugin.reading.kept_tables import delete_tables
from tb_debugger_plugin.tfdbg.dumping_session import empty_folder
from tb_debugger_plugin.tfdbg.watches import WatchOptions

_PREFIX: Final = "tfdbg_"


class Watched(NamedTuple):
    """The watches of a graph as it was, for one choice of tensors."""

    graph: TfGraph
    version: int
    wanted: WatchOptions
    debug_options: debug_pb2.DebugOptions


class CallFolder:
    """The folder of one call at a time.

    Args:
      path: The folder.
      is_own: Whether it was, or is, made for dumps.

    Attributes:
      path: The folder.
      watched: What the last call in it watched; None if nothing did.
    """

    def __init__(self, path: Path, *, is_own: bool) -> None:
        self.path = path
        self.watched: Watched | None = None
        self._is_own = is_own

    @property
    def has_dumps(self) -> bool:
        """Whether anything was written into it."""
        return self.path.is_dir() and any(self.path.iterdir())

    def clear(self) -> None:
        """Delete the dumps, what was derived from them, and the folder if it was made for them."""
        if not self.path.is_dir():
            return
        delete_tables(self.path)  # the next call has others, and nobody asks for these again
        for path in [self.path] if self._is_own else list(self.path.iterdir()):
            if self._is_own or is_of_debugger(path.name):
                _delete(path)


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


class CallFolders:
    """The folders of the calls of one session. Thread-safe.

    Args:
      dump_root: The first folder, which must be empty or not exist; None or an empty text = a temporary one.

    Raises:
      ValueError: The folder is a file, or not empty.
    """

    def __init__(self, dump_root: str | os.PathLike[str] | None) -> None:
        root = None if dump_root is None or not os.fspath(dump_root) else empty_folder(dump_root, "dump_root")
        self._all = [_temporary() if root is None else CallFolder(root, is_own=not root.is_dir())]
        self._free = list(self._all)
        self._lock = threading.Lock()  # guards the lists
        # Also at the end of a program that was interrupted.
        weakref.finalize(self, _clear, self._all)

    def take(self) -> CallFolder:
        """Take a folder that no call uses, without dumps."""
        with self._lock:
            if self._free:
                folder = self._free.pop(0)
            else:
                folder = _temporary()
                self._all.append(folder)
        folder.clear()  # what an interrupted call has left
        return folder

    def give_back(self, folder: CallFolder) -> None:
        """Delete the dumps of a folder; the next call may use it."""
        folder.clear()
        with self._lock:
            self._free.insert(0, folder)


def _temporary() -> CallFolder:
    return CallFolder(Path(tempfile.mkdtemp(prefix=_PREFIX)), is_own=True)


def _clear(folders: list[CallFolder]) -> None:
    for folder in folders:
        folder.clear()
