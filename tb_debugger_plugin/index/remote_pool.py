"""Thread pools for files, shared by all runs.

A file on this machine is read in the caller's thread. A remote file takes tens of milliseconds to answer, and
a job has six files for each host, so remote files are read in parallel. The next batch of a run is read while
the last one is written.

Invariant: neither pool submits work to itself, so no thread waits for its own pool.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from tb_debugger_plugin.events.locations import Location

_REMOTE_THREADS: Final = 16
_READ_AHEAD_THREADS: Final = 4

S = TypeVar("S")
T = TypeVar("T")


@functools.cache
def _pool(name: str, threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, name)


def read_ahead(read: Callable[[], T]) -> Future[T]:
    """Call a function in another thread.

    Args:
      read: May use :class:`RemotePool`, but must not read ahead itself.
    """
    return _pool("tb-debugger-reader", _READ_AHEAD_THREADS).submit(read)


class RemotePool:
    """Applies functions to the files of one run, in parallel where the files are remote.

    Args:
      folder: The folder of the files.
    """

    def __init__(self, folder: Location) -> None:
        self._is_remote = not isinstance(folder, Path)

    def map(self, function: Callable[[S], T], files: Iterable[S]) -> list[T]:
        """Return the result for each file, in the order of the files.

        Args:
          function: Runs in any thread, for several files at the same time.
          files: The arguments of the function.
        """
        if not self._is_remote:
            return list(map(function, files))
        return list(_pool("tb-debugger-remote", _REMOTE_THREADS).map(function, files))
