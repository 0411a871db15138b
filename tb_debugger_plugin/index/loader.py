"""A run's background reader, and what others may ask of it.

A loader starts its thread when a question is asked, reads in steps until it has caught up, then looks twice a
second whether the files changed (more seldom elsewhere than on this machine, and when every host has said
that it ended; looking costs a few stats). When nobody has asked for a minute it closes the database and its
thread ends; the next question opens the tables again, and they are still there.

Files that cannot be read are tried again when they change, and at growing intervals; after three times
questions are answered with the reason.

Rules: the connection that writes belongs to the loader's thread; readers get cursors, whose transactions see
whole commits only; a database is not closed while a question is answered from it, but by :meth:`close`.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import duckdb

from tb_debugger_plugin.errors import DebuggerError, NotReadyError, UnreadableRunError, user_message
from tb_debugger_plugin.events.fileset import SUFFIXES
from tb_debugger_plugin.index.cache import Database, open_database, remove_database
from tb_debugger_plugin.index.eviction import keep_cache_small
from tb_debugger_plugin.index.importer import Importer
from tb_debugger_plugin.index.indexer import STEP_BYTES, Indexer, Progress
from tb_debugger_plugin.index.runs import Run
from tb_debugger_plugin.index.source import SetFile, stat_signature

_logger = logging.getLogger(__name__)

#: With the page's own interval and one step of reading, what is recorded is on the page within two seconds.
_POLL_SECONDS: Final = 0.5
_POLL_REMOTE_SECONDS: Final = 2.0
_POLL_FINISHED_SECONDS: Final = 5.0
#: How long a first question waits for a small run to be read whole, and for anything at all.
_WAIT_WHOLE_SECONDS: Final = 1.0
_WAIT_ANY_SECONDS: Final = 10.0
#: So often what may pass, such as a network that is away, is not yet said to be final.
_MAX_FAILURES: Final = 3
_RETRY_SECONDS: Final = 60.0
_MAX_DOUBLINGS: Final = 10
#: A page that shows a run asks more often than that. Tables that are kept nowhere take as long to make again
#: as the files take to be read, so they stay longer.
_IDLE_SECONDS: Final = 60.0
_IDLE_PRIVATE_SECONDS: Final = 600.0


class RunLoader:
    """Reads one run in the background; lives until :meth:`close`, and rests while nobody asks.

    Args:
      run: The run.
      step_bytes: About how many bytes of each file one commit takes in.
      poll_seconds: How often a run that may go on is looked at; None = as its place deserves.
      clock: Monotonic seconds, by which nobody has asked for a minute.
    """

    def __init__(
        self,
        run: Run,
        *,
        step_bytes: int = STEP_BYTES,
        poll_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.run = run
        #: Whatever the room above wants to keep with the run, by name; emptied when the database is closed.
        self.memory: dict[str, Any] = {}
        self.memory_lock = threading.Lock()  # guards memory
        self._step_bytes = step_bytes
        usual = _POLL_SECONDS if isinstance(run.folder, Path) else _POLL_REMOTE_SECONDS
        self._poll_seconds = usual if poll_seconds is None else poll_seconds
        self._clock = clock
        self._changed = threading.Condition()  # guards the fields below
        self._database: Database | None = None
        self._progress: Progress | None = None
        self._caught_up = False
        self._failure = ""
        self._failures = 0
        self._started = 0.0
        self._asked = 0.0
        self._questions = 0
        self._wanted = False
        self._is_to_rest = False
        self._closed = False
        self._thread: threading.Thread | None = None
        self._logged = ""  # the thread's own

    def start(self) -> None:
        """Start reading, if that is not going on; a question that is only asked later is as good as asked."""
        with self._changed:
            self._asked = self._clock()
            if self._closed:
                return
            self._wanted, self._is_to_rest = True, False
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="tb-debugger-loader", daemon=True)
                self._started = time.monotonic()
                self._thread.start()

    def rest(self) -> None:
        """Close the database until the next question, as soon as none is being answered."""
        with self._changed:
            self._is_to_rest = True
            self._changed.notify_all()

    def wait_until_at_rest(self, seconds: float) -> None:
        """Wait until the database is closed.

        Args:
          seconds: At most how long; not at all while a question is being answered.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._thread is None or self._questions > 0, seconds)

    @property
    def is_at_rest(self) -> bool:
        """Whether no thread and no open database belong to this loader."""
        with self._changed:
            return self._thread is None

    def close(self) -> None:
        """Stop reading and close the database. Questions that are being answered fail as not ready."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    @property
    def progress(self) -> Progress | None:
        """How far reading has come; None before the first commit."""
        with self._changed:
            return self._progress

    @property
    def failure(self) -> str:
        """Why the files cannot be read; empty when they can, and before that is certain."""
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
          Whether it has, or cannot be: then :attr:`failure` says why.
        """
        self.start()
        with self._changed:
            return self._changed.wait_for(lambda: self._caught_up or bool(self._failure), seconds)

    @contextlib.contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor inside a transaction, so that all its queries see the same commit.

        Raises:
          NotReadyError: Nothing has been read yet, or the run is being closed.
          UnreadableRunError: The files cannot be read.
        """
        with self._question() as database, contextlib.ExitStack() as stack:
            try:
                cursor = stack.enter_context(database.reading())
                cursor.execute("BEGIN TRANSACTION READ ONLY")
            except duckdb.Error as error:
                raise NotReadyError("The run is being opened again; try again.") from error
            try:
                yield cursor
            except duckdb.FatalException as error:
                self.rest()  # such a database answers nothing any more; a new connection finds what is kept
                raise NotReadyError("The run is being opened again; try again.") from error
            except duckdb.Error as error:
                if database.closed:
                    raise NotReadyError("The run is being opened again; try again.") from error
                raise

    @contextlib.contextmanager
    def _question(self) -> Iterator[Database]:
        """The database, which stays open inside the block."""
        with self._changed:
            self._questions += 1
        try:
            self.start()
            yield self._opened()
        finally:
            with self._changed:
                self._questions -= 1
                self._changed.notify_all()

    def _opened(self) -> Database:
        with self._changed:
            # Once, so that a page on a run that is still being read gets its answers at once.
            patience = self._started + _WAIT_WHOLE_SECONDS - time.monotonic()
            self._changed.wait_for(lambda: self._caught_up or bool(self._failure), max(0.0, patience))
            self._changed.wait_for(
                lambda: self._progress is not None or bool(self._failure) or self._closed, _WAIT_ANY_SECONDS
            )
            if self._failure:
                # Also while it is tried again, so that rows before the damage do not come and go.
                raise UnreadableRunError(self._failure)
            if self._database is None or self._progress is None:
                raise NotReadyError("The run is still being opened; try again.")
            return self._database

    def _work(self) -> None:
        while self._is_wanted():
            try:
                self._read_until_left()
            except Exception as error:
                self._take_note(error)
                self._wait_for_retry()

    def _take_note(self, error: Exception) -> None:
        # After its first line the database quotes queries of ours.
        words = user_message(error).partition("\n")[0].rstrip(".")
        is_known = isinstance(error, (DebuggerError, OSError, duckdb.Error))
        if words != self._logged:
            _logger.warning(
                "Reading the debug events of run %r failed: %s", self.run.name, words, exc_info=not is_known
            )
        self._logged = words
        with self._changed:
            self._failures += 1
            if self._failures >= _MAX_FAILURES:
                again = "It is tried again when they change, and now and then."
                self._failure = f"Reading this run's files failed: {words}. {again}"
                self._changed.notify_all()

    def _wait_for_retry(self) -> None:
        pause = min(_RETRY_SECONDS, self._poll_seconds * 2.0 ** min(self._failures - 1, _MAX_DOUBLINGS))
        begin, seen = self._clock(), self._signature()
        while self._clock() - begin < pause and self._signature() == seen and not self._leaves():
            self._pause(self._poll_seconds)

    def _signature(self) -> list[tuple[int, ...]]:
        """Changes when the files do, whether or not they can be read."""
        if not self.run.is_tables:
            return [SetFile(files, suffix).signature() for files in self.run.file_sets for suffix in SUFFIXES]
        with contextlib.suppress(OSError):
            names = sorted(path.name for path in self.run.folder.iterdir())
            return [stat_signature(self.run.folder / name) for name in names]
        return []

    def _is_wanted(self) -> bool:
        """Whether to open the database; else the thread is as good as over."""
        with self._changed:
            if self._wanted and not self._closed:
                return True
            self._thread = None
            self._changed.notify_all()
            return False

    def _may_leave(self) -> bool:
        """Whether nobody needs the database; under the lock."""
        if self._closed or self._questions:
            return self._closed
        settled = self._caught_up or bool(self._failure)
        return self._is_to_rest or (settled and self._clock() - self._asked >= self._idle_seconds())

    def _idle_seconds(self) -> float:
        return _IDLE_PRIVATE_SECONDS if self._database and self._database.private else _IDLE_SECONDS

    def _leaves(self) -> bool:
        """Whether the database is to be closed now; if so, nobody gets it any more."""
        with self._changed:
            if not self._may_leave():
                return False
            self._wanted = False
            self._withdraw()
            return True

    def _withdraw(self) -> None:
        self._database = self._progress = None
        self._caught_up = False

    def _pause(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(self._may_leave, seconds)

    def _read_until_left(self) -> None:
        database = open_database(self.run)
        try:
            with self._changed:
                self._database = database
            indexer = self._indexer(database)
            try:
                self._follow(indexer)
            finally:
                indexer.close()
        except BaseException:
            # Memory and tables may disagree after a failure, so the next attempt begins with an empty one.
            self._close_database(database, remove=True)
            raise
        self._close_database(database, remove=False)

    def _close_database(self, database: Database, *, remove: bool) -> None:
        with self._changed:
            self._withdraw()
        database.close()
        with self.memory_lock:
            self.memory.clear()
        if remove and not database.private:
            with contextlib.suppress(OSError):
                remove_database(database.path)

    def _indexer(self, database: Database) -> Indexer | Importer:
        if self.run.is_tables:
            return Importer(self.run, database.connection)
        return Indexer(self.run, database.connection, step_bytes=self._step_bytes)

    def _follow(self, indexer: Indexer | Importer) -> None:
        seen: tuple[tuple[int, ...], ...] | None = None
        while not self._leaves():
            signature = indexer.signature()
            if signature != seen:
                if indexer.was_replaced():
                    indexer.reset()
                if not self._read_on(indexer):
                    continue
                if seen is None:
                    keep_cache_small()
                seen = signature
            self._pause(_POLL_FINISHED_SECONDS if indexer.finished else self._poll_seconds)

    def _read_on(self, indexer: Indexer | Importer) -> bool:
        """Whether all has been read that was there; not when the database is to be closed before."""
        more = True
        while more:
            progress = indexer.step()
            more = progress.more
            with self._changed:
                self._progress = progress
                self._caught_up = not more
                if self._caught_up:
                    self._failure, self._failures = "", 0
                self._changed.notify_all()
                if more and self._may_leave():
                    return False
        return True
