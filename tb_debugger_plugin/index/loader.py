"""A run's background reader, and what others may ask of it.

In comes a run, out come cursors on its committed tables. A loader starts its thread when the first question
is asked, reads in steps until it has caught up, then looks twice a second whether the files changed (more
seldom elsewhere than on this machine, and when every host has said that it ended; looking costs a few stats).

Rule: the connection that writes belongs to the loader's thread; readers get cursors, whose transactions see
whole commits only.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import duckdb

from tb_debugger_plugin.errors import NotReadyError
from tb_debugger_plugin.index.cache import Database, open_database, remove_database
from tb_debugger_plugin.index.importer import Importer
from tb_debugger_plugin.index.indexer import STEP_BYTES, Indexer, Progress
from tb_debugger_plugin.index.runs import Run

_logger = logging.getLogger(__name__)

#: With the page's own interval and one step of reading, what is recorded is on the page within two seconds.
_POLL_SECONDS: Final = 0.5
_POLL_REMOTE_SECONDS: Final = 2.0
_POLL_FINISHED_SECONDS: Final = 5.0
#: How long a first question waits for a small run to be read whole, and for anything at all.
_WAIT_WHOLE_SECONDS: Final = 1.0
_WAIT_ANY_SECONDS: Final = 10.0
_MAX_FAILURES: Final = 3


class RunLoader:
    """Reads one run in the background; lives from its first question to :meth:`close`.

    Args:
      run: The run.
      step_bytes: About how many bytes of each file one commit takes in.
      poll_seconds: How often a run that may go on is looked at; None = as its place deserves.
    """

    def __init__(self, run: Run, *, step_bytes: int = STEP_BYTES, poll_seconds: float | None = None) -> None:
        self.run = run
        #: Whatever the room above wants to keep with the run, by name; emptied when the run is closed.
        self.memory: dict[str, Any] = {}
        self.memory_lock = threading.Lock()  # guards memory
        self._step_bytes = step_bytes
        usual = _POLL_SECONDS if isinstance(run.folder, Path) else _POLL_REMOTE_SECONDS
        self._poll_seconds = usual if poll_seconds is None else poll_seconds
        self._changed = threading.Condition()  # guards the fields below
        self._database: Database | None = None
        self._progress: Progress | None = None
        self._caught_up = False
        self._failure = ""
        self._started = 0.0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start reading, if that has not been done."""
        with self._changed:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._work, name="tb-debugger-loader", daemon=True)
                self._started = time.monotonic()
                self._thread.start()

    def close(self) -> None:
        """Stop reading and close the database. Questions that are being answered fail as not ready."""
        self._stop.set()
        with self._changed:
            self._changed.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        with self.memory_lock:
            self.memory.clear()

    @property
    def progress(self) -> Progress | None:
        """How far reading has come; None before the first commit."""
        with self._changed:
            return self._progress

    @property
    def failure(self) -> str:
        """Why reading ended for good; empty as long as it goes on."""
        with self._changed:
            return self._failure

    @property
    def database_path(self) -> Path | None:
        """Where the tables are kept; None when that is a private place, deleted with the loader."""
        with self._changed:
            database = self._database
        return None if database is None or database.private else database.path

    def wait(self, seconds: float) -> bool:
        """Wait until everything that is in the files has been read.

        Args:
          seconds: At most how long.

        Returns:
          Whether it has.
        """
        self.start()
        with self._changed:
            return self._changed.wait_for(lambda: self._caught_up or bool(self._failure), seconds)

    @contextlib.contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor inside a transaction, so that all its queries see the same commit.

        Raises:
          NotReadyError: Nothing has been read yet, or the run is being closed.
        """
        self.start()
        with self._changed:
            # Once, so that a page on a run that is still being read gets its answers at once.
            patience = self._started + _WAIT_WHOLE_SECONDS - time.monotonic()
            self._changed.wait_for(lambda: self._caught_up or bool(self._failure), max(0.0, patience))
            self._changed.wait_for(
                lambda: self._progress is not None or bool(self._failure) or self._stop.is_set(),
                _WAIT_ANY_SECONDS,
            )
            if self._database is None or self._progress is None:
                raise NotReadyError(self._failure or "The run is still being opened; try again.")
            database = self._database
        with contextlib.ExitStack() as stack:
            try:
                cursor = stack.enter_context(database.reading())
                cursor.execute("BEGIN TRANSACTION READ ONLY")
            except duckdb.Error as error:
                raise NotReadyError("The run is being opened again; try again.") from error
            yield cursor

    def _work(self) -> None:
        failures = 0
        while not self._stop.is_set():
            try:
                self._read_until_stopped()
            except Exception as error:
                failures += 1
                _logger.exception("Reading the debug events of run %r failed.", self.run.name)
                self._give_up(error, final=failures >= _MAX_FAILURES)
                if failures >= _MAX_FAILURES:
                    return
                self._stop.wait(self._poll_seconds)
        self._close_database(remove=False)

    def _give_up(self, error: Exception, *, final: bool) -> None:
        # Memory and tables may disagree after a failure, so the next attempt begins with an empty database.
        self._close_database(remove=True)
        if final:
            with self._changed:
                self._failure = f"Reading this run's files failed: {error}"
                self._changed.notify_all()

    def _close_database(self, *, remove: bool) -> None:
        with self._changed:
            database, self._database, self._progress = self._database, None, None
            self._caught_up = False
        if database is not None:
            database.close()
            if remove and not database.private:
                with contextlib.suppress(OSError):
                    remove_database(database.path)

    def _read_until_stopped(self) -> None:
        database = open_database(self.run)
        with self._changed:
            self._database = database
        indexer = self._indexer(database)
        try:
            self._follow(indexer)
        finally:
            indexer.close()

    def _indexer(self, database: Database) -> Indexer | Importer:
        if self.run.is_tables:
            return Importer(self.run, database.connection)
        return Indexer(self.run, database.connection, step_bytes=self._step_bytes)

    def _follow(self, indexer: Indexer | Importer) -> None:
        seen: tuple[tuple[int, ...], ...] | None = None
        while not self._stop.is_set():
            signature = indexer.signature()
            if signature != seen:
                if indexer.was_replaced():
                    indexer.reset()
                self._read_on(indexer)
                seen = signature
            self._stop.wait(_POLL_FINISHED_SECONDS if indexer.finished else self._poll_seconds)

    def _read_on(self, indexer: Indexer | Importer) -> None:
        more = True
        while more and not self._stop.is_set():
            progress = indexer.step()
            more = progress.more
            with self._changed:
                self._progress = progress
                self._caught_up = not more
                self._changed.notify_all()
