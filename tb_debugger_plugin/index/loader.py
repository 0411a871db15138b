"""Loads a run in a background thread and answers queries from its tables.

A loader starts its thread at the first query. The thread reads commit by commit until it has caught up, then
checks twice a second whether the files have changed (less often when they are remote, and when every host has
recorded its end; a check costs a few stats). While there are queries, it checks again soon after a check that
found something, and then less and less often. After a minute without queries it closes the database and the
thread ends. The next query opens the same tables again.

Files that cannot be read are tried again when they change, and at growing intervals. After three failures,
queries are answered with the reason.

Invariants: the connection that writes belongs to the loader's thread; readers get cursors, whose transactions
see whole commits only; only :meth:`close` closes a database while a query is answered from it.

Locks are taken in this order: ``Library._lock``, ``RunLoader._changed``, the lock of ``RunMemory``,
``Database._reader_ended``, ``_open_paths_lock`` of the cache. Only the first two are ever held together.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import duckdb

from tb_debugger_plugin.errors import DebuggerError, NotReadyError, UnreadableRunError, user_message
from tb_debugger_plugin.events.dumps.folders import below, call_folders
from tb_debugger_plugin.events.fileset import SUFFIXES, WITH_TAIL, FileSet
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.index.cache import (
    Database,
    database_path,
    explained,
    give_back_memory,
    keep_cache_small,
    open_database,
    remove_database,
)
from tb_debugger_plugin.index.dumps.dump_importer import DumpImporter
from tb_debugger_plugin.index.importer import Importer
from tb_debugger_plugin.index.indexer import COMMIT_BYTES, Indexer, LoadProgress
from tb_debugger_plugin.index.parquet import is_of_tables
from tb_debugger_plugin.index.run_memory import RunMemory
from tb_debugger_plugin.index.runs import FoundRun, RunKind
from tb_debugger_plugin.index.source import SetFile, stat_signature

Signature = tuple[tuple[int, ...], ...]


class TableReader(Protocol):
    """Keeps the database of a run up to date; lives in one thread until :meth:`close`."""

    @property
    def finished(self) -> bool:
        """Whether nothing is expected to come, so that files are checked less often."""
        ...

    def signature(self) -> Signature:
        """Return a value that changes when there may be something new."""
        ...

    def was_replaced(self) -> bool:
        """Whether everything must be read again."""
        ...

    def reset(self) -> None:
        """Forget all rows."""
        ...

    def advance(self) -> LoadProgress:
        """Read and commit what is new, up to a limit."""
        ...

    def close(self) -> None:
        """Stop reading."""
        ...


@dataclass(frozen=True)
class Settled:
    """A commit that holds all that was in the files.

    Attributes:
      generation: The number of the commit.
      files: The signature that the files had before they were read; see :func:`files_signature`.
    """

    generation: int
    files: Signature


@dataclass(frozen=True)
class RunReader:
    """How runs of a kind are read.

    Attributes:
      open: Opens a reader of a run, on a connection to its database; the number is about how many bytes of
        each file a commit has.
      signature: Returns a value that changes when the files of a run do, whether or not they can be read.
      paths: Returns the files of a run, which need not all exist; None if they are too many to look at.
    """

    open: Callable[[FoundRun, duckdb.DuckDBPyConnection, int], TableReader]
    signature: Callable[[FoundRun], list[tuple[int, ...]]]
    paths: Callable[[FoundRun], list[Location]] | None


def _event_files(run: FoundRun) -> list[tuple[int, ...]]:
    return [file.signature() for file in _set_files(run.file_sets)]


@functools.lru_cache(maxsize=1024)
def _set_files(file_sets: tuple[FileSet, ...]) -> list[SetFile]:
    return [SetFile(files, suffix) for files in file_sets for suffix in SUFFIXES]


def _event_paths(run: FoundRun) -> list[Location]:
    return [
        path
        for files in run.file_sets
        for path in (*map(files.path, SUFFIXES), *map(files.tail_path, WITH_TAIL))
    ]


def _table_files(run: FoundRun) -> list[tuple[int, ...]]:
    return [stat_signature(path) for path in _table_paths(run)]


def _table_paths(run: FoundRun) -> list[Location]:
    with contextlib.suppress(OSError):
        names = sorted(path.name for path in run.folder.iterdir())
        # Files of the user are beside them.
        return [run.folder / name for name in names if is_of_tables(name)]
    return []


def _dump_folders(run: FoundRun) -> list[tuple[int, ...]]:
    return [stat_signature(below(run.folder, name)) for name in call_folders(run.folder)]


READERS: Final = {
    RunKind.EVENTS: RunReader(
        lambda run, db, size: Indexer(run, db, commit_bytes=size), _event_files, _event_paths
    ),
    RunKind.TABLES: RunReader(lambda run, db, size: Importer(run, db), _table_files, _table_paths),
    RunKind.DUMPS: RunReader(
        lambda run, db, size: DumpImporter(run, db, commit_bytes=size), _dump_folders, None
    ),
}


def files_signature(run: FoundRun) -> Signature:
    """Return a value that changes when the files of a run do, whether or not they can be read."""
    return tuple(READERS[run.kind].signature(run))


@dataclass(frozen=True)
class Written:
    """What the files of a run say without being opened.

    Attributes:
      size: Their bytes together; None if they are too many to look at.
      time: When one of them was last changed, in seconds since the epoch; None if there is none.
    """

    size: int | None = None
    time: float | None = None


def written(run: FoundRun) -> Written:
    """Return the size and the time of the files of a run of this machine; of others, nothing is asked."""
    if not isinstance(run.folder, Path):
        return Written()
    paths = READERS[run.kind].paths
    found = files_signature(run) if paths is None else tuple(map(stat_signature, paths(run)))
    time = max((changed for _, changed, *_ in found), default=0) / 1e9
    return Written(None if paths is None else sum(size for size, *_ in found), time or None)


_logger = logging.getLogger(__name__)

#: With this, the page's own interval and one commit, a record is on the page within two seconds.
_POLL_SECONDS: Final = 0.5
#: After a check that found something. The time of a commit comes on top, and queries need time between two.
_POLL_SOON_SECONDS: Final = 0.05
#: Seconds after the last query in which somebody still waits for what is new.
_WATCHED_SECONDS: Final = 5.0
_POLL_REMOTE_SECONDS: Final = 2.0
_POLL_FINISHED_SECONDS: Final = 5.0
#: Seconds that the first query waits until a small run is read completely, and until there is a first commit.
_WAIT_WHOLE_SECONDS: Final = 1.0
_WAIT_ANY_SECONDS: Final = 10.0
#: The number of failures after which the reason is reported. Fewer may be temporary, such as a lost network.
_MAX_FAILURES: Final = 3
_RETRY_SECONDS: Final = 60.0
_MAX_DOUBLINGS: Final = 10
#: A page that shows a run sends queries more often than this. A private database stays longer, because making
#: it again takes as long as reading all files.
_IDLE_SECONDS: Final = 60.0
#: A run is in use when a query is being answered, or the last one came so many seconds ago at most, and so
#: many after the first one. Who looks at a run also reads for some seconds, and to open it again costs more.
_LAST_USE_SECONDS: Final = 5.0
_USE_SECONDS: Final = 0.5
_IDLE_PRIVATE_SECONDS: Final = 600.0


class RunLoader:
    """Reads one run in the background; lives until :meth:`close`, and rests while there are no queries.

    Args:
      run: The run.
      commit_bytes: About how many bytes of each file one commit reads.
      folders: Folders that statements on its database may write; see `open_database`.
      poll_seconds: Interval at which the files of an unfinished run are checked; None = 0.5, and less while
        they grow and somebody looks, or 2 for remote files.
      clock: Returns monotonic seconds; used to measure the time without queries.
    """

    def __init__(
        self,
        run: FoundRun,
        *,
        commit_bytes: int = COMMIT_BYTES,
        folders: Sequence[Path] = (),
        poll_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.run = run
        #: What ``analysis`` keeps with the run; emptied when the database is closed.
        self.memory = RunMemory()
        #: What is true of the tables, also while the database is closed; emptied when they are not the same.
        self.memory_of_tables = RunMemory()
        self._commit_bytes = commit_bytes
        self._folders = folders
        usual = _POLL_SECONDS if isinstance(run.folder, Path) else _POLL_REMOTE_SECONDS
        self._poll_seconds = usual if poll_seconds is None else poll_seconds
        grows_fast = poll_seconds is None and isinstance(run.folder, Path)
        self._soon_seconds = _POLL_SOON_SECONDS if grows_fast else self._poll_seconds
        self._clock = clock
        self._changed = threading.Condition()  # guards the fields below
        self._database: Database | None = None
        self._progress: LoadProgress | None = None
        self._caught_up = False
        self._settled: Settled | None = None
        self._failure = ""
        self._failures = 0
        self._started = 0.0
        self._first_query = self._last_query = 0.0
        self._num_queries = 0
        self._is_needed = False
        self._must_rest = False
        self._closed = False
        self._looks_wanted = self._looks_done = 0  # numbers of looks at the files for `catch_up`
        self._thread: threading.Thread | None = None
        # Used by the thread only.
        self._logged = ""
        self._left = (0, 0, 0)

    def start(self) -> None:
        """Start reading unless the thread is running; counts as a query."""
        with self._changed:
            self._last_query = self._clock()
            if self._closed:
                return
            self._is_needed, self._must_rest = True, False
            if self._thread is None:
                self._first_query = self._last_query
                self._thread = threading.Thread(target=self._work, name="tb-debugger-loader", daemon=True)
                self._started = time.monotonic()
                self._thread.start()

    def rest(self) -> None:
        """Close the database until the next query, once no query is being answered."""
        with self._changed:
            self._must_rest = True
            self._changed.notify_all()

    def wait_until_at_rest(self, seconds: float) -> None:
        """Wait until the database is closed.

        Args:
          seconds: Timeout. The call does not wait while a query is being answered.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._thread is None or self._num_queries > 0, seconds)

    @property
    def is_at_rest(self) -> bool:
        """Whether this loader has no thread and no open database."""
        with self._changed:
            return self._thread is None

    @property
    def is_in_use(self) -> bool:
        """Whether queries have come for a while, and until a moment ago."""
        with self._changed:
            is_used = self._last_query - self._first_query >= _USE_SECONDS
            is_recent = self._num_queries > 0 or self._clock() - self._last_query < _LAST_USE_SECONDS
            return is_used and is_recent

    def close(self) -> None:
        """Stop reading and close the database. Queries that are being answered fail as not ready."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    @property
    def progress(self) -> LoadProgress | None:
        """The progress of reading; None before the first commit."""
        with self._changed:
            return self._progress

    @property
    def settled(self) -> Settled | None:
        """The commit that holds all that was in local files; None while there is more to read."""
        with self._changed:
            return self._settled

    @property
    def failure(self) -> str:
        """The reason why the files cannot be read; empty when they can, and before three failures."""
        with self._changed:
            return self._failure

    @property
    def database_path(self) -> Path | None:
        """The path of the database; None when it is private, so that closing deletes it."""
        with self._changed:
            database = self._database
        return None if database is None or database.private else database.path

    def wait(self, seconds: float) -> bool:
        """Wait until everything in the files has been read, or cannot be read.

        Args:
          seconds: Timeout.

        Returns:
          False after a timeout. When the files cannot be read, :attr:`failure` is the reason.
        """
        self.start()
        with self._changed:
            return self._changed.wait_for(lambda: self._caught_up or bool(self._failure), seconds)

    def catch_up(self, seconds: float) -> bool:
        """Read what is in the files at this moment, without waiting until the files are checked again.

        Args:
          seconds: Timeout.

        Returns:
          Whether the tables hold all of it; False after a timeout, and when the files cannot be read.
        """
        self.start()
        with self._changed:
            self._looks_wanted += 1
            mine = self._looks_wanted
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: self._looks_done >= mine or bool(self._failure) or self._closed, seconds
            )
            return self._looks_done >= mine and not self._failure

    @contextlib.contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Give a cursor inside a transaction, so that all its queries see the same commit.

        Raises:
          NotReadyError: There is no commit yet, or the run is being closed.
          UnreadableRunError: The files cannot be read.
        """
        with self._held_database() as database, contextlib.ExitStack() as stack:
            try:
                cursor = stack.enter_context(database.reading())
                cursor.execute("BEGIN TRANSACTION READ ONLY")
            except duckdb.Error as error:
                raise NotReadyError("The run is being opened again; try again.") from error
            try:
                yield cursor
            except duckdb.FatalException as error:
                self.rest()  # this connection cannot be used any more, but a new one finds the tables
                raise NotReadyError("The run is being opened again; try again.") from error
            except duckdb.Error as error:
                if database.closed:
                    raise NotReadyError("The run is being opened again; try again.") from error
                raise

    @contextlib.contextmanager
    def _held_database(self) -> Iterator[Database]:
        """Give the database, which stays open inside the block."""
        with self._changed:
            self._num_queries += 1
        try:
            self.start()
            yield self._wait_for_database()
        finally:
            with self._changed:
                self._num_queries -= 1
                self._changed.notify_all()

    def _wait_for_database(self) -> Database:
        with self._changed:
            # Measured from the start, so that only the first queries wait while a long run is read.
            patience = self._started + _WAIT_WHOLE_SECONDS - time.monotonic()
            self._changed.wait_for(lambda: self._caught_up or bool(self._failure), max(0.0, patience))
            self._changed.wait_for(
                lambda: self._progress is not None or bool(self._failure) or self._closed, _WAIT_ANY_SECONDS
            )
            if self._failure:
                # Also during further attempts, so that the rows before the damage do not come and go.
                raise UnreadableRunError(self._failure)
            if self._database is None or self._progress is None:
                raise NotReadyError("The run is still being opened; try again.")
            return self._database

    def _work(self) -> None:
        while self._should_run():
            seen = files_signature(self.run)
            try:
                self._read_until_idle()
            except Exception as error:
                self._note_failure(error)
                self._wait_for_retry(seen)

    def _note_failure(self, error: Exception) -> None:
        # After the first line, DuckDB quotes our own SQL.
        reason = user_message(error).partition("\n")[0].rstrip(".")
        is_known = isinstance(error, (DebuggerError, OSError, duckdb.Error))
        if reason != self._logged:
            _logger.warning(
                "Reading the debug events of run %r failed: %s", self.run.name, reason, exc_info=not is_known
            )
        self._logged = reason
        with self._changed:
            self._failures += 1
            if self._failures >= _MAX_FAILURES:
                again = "The viewer tries again when they change, and now and then."
                self._failure = f"Reading this run's files failed: {reason}. {again}"
                self._changed.notify_all()

    def _wait_for_retry(self, seen: Signature) -> None:
        """Wait until it is time, or until the files are no longer those of before the attempt."""
        pause = min(_RETRY_SECONDS, self._poll_seconds * 2.0 ** min(self._failures - 1, _MAX_DOUBLINGS))
        begin = self._clock()
        self._pause(self._poll_seconds)  # also when they have changed: they may change all the time
        while (
            self._clock() - begin < pause and files_signature(self.run) == seen and not self._stop_if_idle()
        ):
            self._pause(self._poll_seconds)

    def _should_run(self) -> bool:
        """Whether to open the database; if not, the thread ends and is already forgotten."""
        with self._changed:
            if self._is_needed and not self._closed:
                return True
            self._thread = None
            self._changed.notify_all()
            return False

    def _may_stop(self) -> bool:
        """Whether the database is not needed any more; the caller holds the lock."""
        if self._closed or self._num_queries:
            return self._closed
        settled = self._caught_up or bool(self._failure)
        return self._must_rest or (settled and self._clock() - self._last_query >= self._idle_seconds())

    def _idle_seconds(self) -> float:
        return _IDLE_PRIVATE_SECONDS if self._database and self._database.private else _IDLE_SECONDS

    def _stop_if_idle(self) -> bool:
        """Withdraw the database if it is not needed any more; return whether it was withdrawn."""
        with self._changed:
            if not self._may_stop():
                return False
            self._is_needed = False
            self._withdraw()
            return True

    def _withdraw(self) -> None:
        self._database = self._progress = self._settled = None
        self._caught_up = False

    def _pause(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(self._may_stop, seconds)

    def _wait_for_look(self, seconds: float) -> None:
        """Wait until the files are to be checked again."""
        with self._changed:
            self._changed.wait_for(lambda: self._looks_wanted > self._looks_done or self._may_stop(), seconds)

    def _read_until_idle(self) -> None:
        found = stat_signature(database_path(self.run))
        database = open_database(self.run, self._folders)
        if database.private or found != self._left:
            self.memory_of_tables.clear()
        try:
            with self._changed:
                self._database = database
            reader = READERS[self.run.kind].open(self.run, database.connection, self._commit_bytes)
            try:
                self._follow(reader)
            finally:
                reader.close()
        except BaseException as error:
            # After a failure, memory and tables may disagree, so the next attempt begins with empty tables.
            self._close_database(database, remove=True)
            raise explained(error, database.path) from error
        self._close_database(database, remove=False)
        if not self._closed:  # a process that closes it ends, as a rule
            give_back_memory()

    def _close_database(self, database: Database, *, remove: bool) -> None:
        with self._changed:
            self._withdraw()
        database.close()
        self.memory.clear()
        self.memory_of_tables.pack()
        self._left = stat_signature(database_path(self.run))
        if remove and not database.private:
            with contextlib.suppress(OSError):
                remove_database(database.path)

    def _follow(self, reader: TableReader) -> None:
        seen: Signature | None = None
        pause = self._poll_seconds
        while not self._stop_if_idle():
            with self._changed:
                wanted = self._looks_wanted
            signature = reader.signature()
            if signature != seen:
                if reader.was_replaced():
                    reader.reset()
                if not self._read_on(reader):
                    continue
                pause = self._soon_seconds
            else:
                pause = min(2 * pause, self._poll_seconds)
            self._note_look(wanted)
            if seen is None:
                keep_cache_small()
            seen = signature
            usual = _POLL_FINISHED_SECONDS if reader.finished else self._poll_seconds
            self._wait_for_look(min(pause, usual) if self._is_watched() else usual)

    def _is_watched(self) -> bool:
        with self._changed:
            return self._clock() - self._last_query < _WATCHED_SECONDS

    def _note_look(self, number: int) -> None:
        with self._changed:
            self._looks_done = number
            self._changed.notify_all()

    def _read_on(self, reader: TableReader) -> bool:
        """Read until nothing is left; return False when it stopped early to close the database."""
        files = files_signature(self.run) if isinstance(self.run.folder, Path) else None
        more = True
        while more:
            progress = reader.advance()
            more = progress.more
            with self._changed:
                self._progress = progress
                self._caught_up = not more
                self._settled = None if more or files is None else Settled(progress.generation, files)
                if self._caught_up:
                    self._failure, self._failures = "", 0
                self._changed.notify_all()
                if more and self._may_stop():
                    return False
        return True
