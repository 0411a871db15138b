"""Threads that wait for files, the same ones for all runs.

A file on this machine answers at once, so those are asked one after another; one that is elsewhere takes tens
of milliseconds, and a job has six files for each host, so those are asked many at a time. The next batch of a
run is read while one is written.

Rule: neither kind of work hands out work of its own kind, so that none waits for a thread for ever.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from tb_debugger_plugin.events.places import Place

_AT_ONCE: Final = 16
_READ_AHEAD_AT_ONCE: Final = 4

S = TypeVar("S")
T = TypeVar("T")


@functools.cache
def _threads(name: str, count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, name)


def read_ahead(read: Callable[[], T]) -> Future[T]:
    """Call in another thread.

    Args:
      read: May ask through :class:`Waiting`, but not read ahead itself.
    """
    return _threads("tb-debugger-reader", _READ_AHEAD_AT_ONCE).submit(read)


class Waiting:
    """Asks the files of one run.

    Args:
      folder: Where they are.
    """

    def __init__(self, folder: Place) -> None:
        self._is_elsewhere = not isinstance(folder, Path)

    def ask(self, question: Callable[[S], T], files: Iterable[S]) -> list[T]:
        """The answer of each file, in their order.

        Args:
          question: May be asked in any thread, of different files at the same time.
          files: Whatever the question takes.
        """
        if not self._is_elsewhere:
            return list(map(question, files))
        return list(_threads("tb-debugger-waiting", _AT_ONCE).map(question, files))
