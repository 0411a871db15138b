"""The library of runs: all runs of a logdir, each with a loader once it was queried.

Few databases are open at a time. Loaders without queries are at rest; when opening one more would be too
many, the least recently used ones are put to rest, unless somebody is using them. The folders are searched at
most once a second, and in the background for :meth:`Library.is_active`, because TensorBoard calls that of
every plugin whenever it lists them.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tb_debugger_plugin.errors import NotFoundError
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.index.loader import RunLoader
from tb_debugger_plugin.index.logdir import Logdir, one_folder
from tb_debugger_plugin.index.runs import FoundRun, Problem, is_no_mark

_logger = logging.getLogger(__name__)

_RESCAN_SECONDS: Final = 1.0
#: Listing a remote folder takes long, and may cost money.
_RESCAN_REMOTE_SECONDS: Final = 5.0
_SEARCH_AGAIN_SECONDS: Final = 0.25
#: Seconds that the first listing of plugins waits for a search of the logdir, and that later ones wait.
_FIRST_WAIT_SECONDS: Final = 0.25
_LATER_WAIT_SECONDS: Final = 0.002
#: Open databases. Each takes three threads and some megabytes, and that of a long run up to its memory limit.
_MAX_OPEN: Final = 8
#: The same with those that are in use: to close one of them would be to open it again at once.
_MAX_IN_USE: Final = 24
#: Seconds that a query waits until each surplus database is closed; a remote file may keep a loader busy.
_MAKE_ROOM_SECONDS: Final = 1.0


def _let_be(run: FoundRun) -> None:
    pass


class Library:
    """The runs of a logdir; lives as long as the viewer.

    Args:
      logdir: The folders of the runs, which need not exist yet; None = there is nothing to show.
      clock: Returns monotonic seconds.
      make_loader: Makes the loader of a run.
      is_mark: Whether a file of a name marks its folder, which is then worth showing.
      make_way: Called with each run that is asked for, before it is opened.
    """

    def __init__(
        self,
        logdir: Logdir | Path | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        make_loader: Callable[[FoundRun], RunLoader] = RunLoader,
        is_mark: Callable[[str], bool] = is_no_mark,
        make_way: Callable[[FoundRun], None] = _let_be,
    ) -> None:
        self._logdir = one_folder(logdir) if isinstance(logdir, Path) else logdir or Logdir("", ())
        self._rescan_seconds = _RESCAN_REMOTE_SECONDS if self._logdir.is_elsewhere else _RESCAN_SECONDS
        self._clock = clock
        self._make_loader = make_loader
        self._is_mark = is_mark
        self._make_way = make_way
        self._lock = threading.Lock()  # guards _runs, _marked, _problems, _scanned, _loaders
        self._marked: list[Path] = []
        self._runs: dict[str, FoundRun] = {}
        self._problems: list[Problem] = []
        self._scanned = float("-inf")
        self._loaders: dict[str, RunLoader] = {}
        self._search_lock = threading.Lock()  # guards _search, _searched, _active
        self._search: threading.Event | None = None
        self._searched = float("-inf")
        self._active = False
        _close_at_exit(self)

    def is_active(self) -> bool:
        """Whether there is something to show, as far as is known within milliseconds."""
        with self._search_lock:
            first = self._searched == float("-inf")
            is_due = self._search is None and self._clock() - self._searched >= _SEARCH_AGAIN_SECONDS
            if is_due:
                self._search = threading.Event()
            search = self._search
        if is_due:
            self._begin_search()  # without the lock: the start of a thread waits for it
        if search is not None:
            search.wait(_FIRST_WAIT_SECONDS if first else _LATER_WAIT_SECONDS)
        return self._active

    def _begin_search(self) -> None:
        try:
            threading.Thread(target=self._scan_logdir, name="tb-debugger-discovery", daemon=True).start()
        except RuntimeError:  # no more threads now; there may be later
            self._end_search(self._active)

    def _scan_logdir(self) -> None:
        active = self._active
        try:
            active = self._logdir.is_worth_showing(self._is_mark)
        except Exception:  # a folder may be anything; the next search may be better
            _logger.debug("Searching the logdir failed.", exc_info=True)
        finally:
            self._end_search(active)

    def _end_search(self, active: bool) -> None:
        with self._search_lock:
            self._active = active
            self._searched = self._clock()
            search, self._search = self._search, None
        if search is not None:
            search.set()

    def runs(self) -> dict[str, FoundRun]:
        """Return the runs by name; the result is at most a second old."""
        gone: list[RunLoader] = []
        with self._lock:
            if self._clock() - self._scanned >= self._rescan_seconds:
                marked: list[Path] = []
                self._runs, self._problems = self._logdir.find_runs(lambda *one: self._note(marked, *one))
                self._marked = marked
                self._scanned = self._clock()
                gone = self._forget_changed()
            runs = dict(self._runs)
        for loader in gone:
            loader.close()
        return runs

    def _note(self, marked: list[Path], folder: Location, names: list[str]) -> None:
        if isinstance(folder, Path) and any(map(self._is_mark, names)):
            marked.append(folder)

    def marked_folders(self) -> list[Path]:
        """Return the folders on this machine with a file that marks them; at most a second old."""
        self.runs()
        with self._lock:
            return list(self._marked)

    @property
    def logdir(self) -> str:
        """The logdir as it was given."""
        return self._logdir.text

    def problems(self) -> list[Problem]:
        """Return what could not be read of the logdir; the result is at most a second old."""
        self.runs()
        with self._lock:
            return list(self._problems)

    def _forget_changed(self) -> list[RunLoader]:
        changed = [name for name, loader in self._loaders.items() if self._runs.get(name) != loader.run]
        return [self._loaders.pop(name) for name in changed]

    def found(self, name: str) -> FoundRun:
        """Return a run, which this call does not open.

        Raises:
          NotFoundError: There is no such run.
        """
        run = self.runs().get(name)
        if run is None:
            raise NotFoundError(f"There is no run named {name!r}.")
        return run

    def loader(self, name: str) -> RunLoader:
        """Return the loader of a run, which this call starts.

        Args:
          name: The name of the run.

        Raises:
          NotFoundError: There is no such run.
        """
        run = self.found(name)
        self._make_way(run)
        with self._lock:
            loader = self._loaders.pop(name, None) or self._make_loader(run)
            loader.start()
            self._loaders[name] = loader  # moved to the end, as the most recently used one
            surplus = self._surplus()
        for other in surplus:
            other.rest()
        for other in surplus:
            other.wait_until_at_rest(_MAKE_ROOM_SECONDS)
        return loader

    def opened(self, name: str) -> RunLoader | None:
        """Return the loader of a run that was queried, as it is; None for another run."""
        with self._lock:
            return self._loaders.get(name)

    def _surplus(self) -> list[RunLoader]:
        is_open = [loader for loader in self._loaders.values() if not loader.is_at_rest]
        between = is_open[-_MAX_IN_USE:-_MAX_OPEN]
        return [*is_open[:-_MAX_IN_USE], *(loader for loader in between if not loader.is_in_use)]

    def close(self) -> None:
        """Stop all loaders."""
        with self._lock:
            loaders = list(self._loaders.values())
            self._loaders.clear()
        for loader in loaders:
            loader.close()


def _close_at_exit(library: Library) -> None:
    # Closing deletes private databases, and the threads of loaders are killed at exit.
    reference = weakref.ref(library)

    def close() -> None:
        alive = reference()
        if alive is not None:
            alive.close()

    atexit.register(close)
