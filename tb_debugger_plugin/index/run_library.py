"""All runs of a logdir, with a loader for each one that was asked for.

Few databases are open at a time: those that nobody asks about rest, and when another one is opened that would
be too many, so do those that were asked about longest ago. Looking through the folders is done at most once
a second, and for :meth:`Library.is_active` in the background, since TensorBoard asks that of every plugin
each time it lists them.
"""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tb_debugger_plugin.errors import NotFoundError
from tb_debugger_plugin.index.loader import RunLoader
from tb_debugger_plugin.index.logdir import Logdir, one_folder
from tb_debugger_plugin.index.runs import Problem, Run

_RESCAN_SECONDS: Final = 1.0
#: Listing a folder elsewhere takes long, and may cost money.
_RESCAN_REMOTE_SECONDS: Final = 5.0
_LOOK_AGAIN_SECONDS: Final = 0.25
#: The first listing of plugins may wait for one look at the logdir; later ones hardly.
_FIRST_WAIT_SECONDS: Final = 0.25
_LATER_WAIT_SECONDS: Final = 0.002
#: An open one takes three threads and some megabytes, a long one up to its limit of memory.
_MAX_OPEN: Final = 8
#: How long a question waits for others to be closed; a file that is elsewhere may keep one busy.
_MAKE_ROOM_SECONDS: Final = 1.0


class Library:
    """The runs of a logdir; lives as long as the viewer.

    Args:
      logdir: Where they are; the folders need not exist yet. None = there is nothing to show.
      clock: Monotonic seconds.
      make_loader: Makes the loader of a run.
    """

    def __init__(
        self,
        logdir: Logdir | Path | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        make_loader: Callable[[Run], RunLoader] = RunLoader,
    ) -> None:
        self._logdir = one_folder(logdir) if isinstance(logdir, Path) else logdir or Logdir("", ())
        self._rescan_seconds = _RESCAN_REMOTE_SECONDS if self._logdir.is_elsewhere else _RESCAN_SECONDS
        self._clock = clock
        self._make_loader = make_loader
        self._lock = threading.Lock()  # guards _runs, _problems, _scanned, _loaders
        self._runs: dict[str, Run] = {}
        self._problems: list[Problem] = []
        self._scanned = float("-inf")
        self._loaders: dict[str, RunLoader] = {}
        self._look = threading.Lock()  # guards _looking, _looked, _active
        self._looking: threading.Event | None = None
        self._looked = float("-inf")
        self._active = False
        _close_at_exit(self)

    def is_active(self) -> bool:
        """Whether there is something to show, as far as can be said within milliseconds."""
        with self._look:
            first = self._looked == float("-inf")
            if self._looking is None and self._clock() - self._looked >= _LOOK_AGAIN_SECONDS:
                self._looking = threading.Event()
                threading.Thread(target=self._find_first, name="tb-debugger-discovery", daemon=True).start()
            looking = self._looking
        if looking is not None:
            looking.wait(_FIRST_WAIT_SECONDS if first else _LATER_WAIT_SECONDS)
        return self._active

    def _find_first(self) -> None:
        found = self._logdir.is_worth_showing()
        with self._look:
            self._active = found
            self._looked = self._clock()
            looking, self._looking = self._looking, None
        if looking is not None:
            looking.set()

    def runs(self) -> dict[str, Run]:
        """The runs by name, at most a second old."""
        gone: list[RunLoader] = []
        with self._lock:
            if self._clock() - self._scanned >= self._rescan_seconds:
                self._runs, self._problems = self._logdir.find_runs()
                self._scanned = self._clock()
                gone = self._forget_changed()
            runs = dict(self._runs)
        for loader in gone:
            loader.close()
        return runs

    @property
    def logdir(self) -> str:
        """Where the runs are, as it was given."""
        return self._logdir.text

    def problems(self) -> list[Problem]:
        """What kept runs from being found, at most a second old."""
        self.runs()
        with self._lock:
            return list(self._problems)

    def _forget_changed(self) -> list[RunLoader]:
        changed = [name for name, loader in self._loaders.items() if self._runs.get(name) != loader.run]
        return [self._loaders.pop(name) for name in changed]

    def loader(self, name: str) -> RunLoader:
        """The loader of a run, which this call starts.

        Args:
          name: Of the run.

        Raises:
          NotFoundError: There is no such run.
        """
        run = self.runs().get(name)
        if run is None:
            raise NotFoundError(f"There is no run named {name!r}.")
        with self._lock:
            loader = self._loaders.pop(name, None) or self._make_loader(run)
            loader.start()
            self._loaders[name] = loader  # the last one is the one asked about last
            in_the_way = self._too_many()
        for other in in_the_way:
            other.rest()
        for other in in_the_way:
            other.wait_until_at_rest(_MAKE_ROOM_SECONDS)
        return loader

    def _too_many(self) -> list[RunLoader]:
        is_open = [loader for loader in self._loaders.values() if not loader.is_at_rest]
        return is_open[:-_MAX_OPEN]

    def close(self) -> None:
        """Stop all loaders."""
        with self._lock:
            loaders = list(self._loaders.values())
            self._loaders.clear()
        for loader in loaders:
            loader.close()


def _close_at_exit(library: Library) -> None:
    # Private databases are deleted when they are closed, and a killed thread would not do it.
    reference = weakref.ref(library)

    def close() -> None:
        found = reference()
        if found is not None:
            found.close()

    atexit.register(close)
