"""Questions to files that are elsewhere, many at a time.

In comes a question and the files to ask it of, out come the answers in their order. A file on this machine
answers at once, so those are asked one after another; one that is elsewhere takes tens of milliseconds, and a
job has six files for each host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from tb_debugger_plugin.events.places import Place

_AT_ONCE: Final = 16

S = TypeVar("S")
T = TypeVar("T")


class Waiting:
    """Asks; lives until :meth:`close`.

    Args:
      folder: Where the files are.
    """

    def __init__(self, folder: Place) -> None:
        elsewhere = not isinstance(folder, Path)
        self._threads = ThreadPoolExecutor(_AT_ONCE, "tb-debugger-waiting") if elsewhere else None

    def ask(self, question: Callable[[S], T], files: Iterable[S]) -> list[T]:
        """The answer of each file.

        Args:
          question: May be asked in any thread, of different files at the same time.
          files: Whatever the question takes.
        """
        return list(map(question, files) if self._threads is None else self._threads.map(question, files))

    def close(self) -> None:
        """End the threads."""
        if self._threads is not None:
            self._threads.shutdown()
