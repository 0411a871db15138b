"""The cache of databases: where the database of a run is, and how it is opened.

The databases are a cache: they are outside the logdir (which may be read-only), and deleting them loses
nothing. Each has a note beside it with the folder of its run; the note's time is that of the last use. The
last verdict on the run may be beside it, too (`analysis/verdict.py`). Only one process can open a DuckDB
file. A second process builds a private database in a temporary folder, so that two viewers of one logdir both
work. The folder is kept below ``$TB_DEBUGGER_CACHE_GB``, else 2 GiB.

Invariant: a query on a database reaches no file of this machine but its own, those of a run that is a folder
of tables, and those of the folders that its caller names. DuckDB keeps this, for all connections.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import gc
import hashlib
import logging
import math
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import duckdb

from tb_debugger_plugin.index import schema
from tb_debugger_plugin.index.columns import ROW_GROUP
from tb_debugger_plugin.index.parquet import quoted
from tb_debugger_plugin.index.runs import FoundRun, RunKind

_ENVIRONMENT: Final = "TB_DEBUGGER_CACHE"
_CONFIG: Final[dict[str, str | bool | int | float | list[str]]] = {
    "memory_limit": "320MB",
    "threads": 2,
    "preserve_insertion_order": True,
    # Extensions would be fetched from the network.
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}

#: The name of the file among the databases of its connection.
_ATTACHED: Final = "run"

#: Seconds that closing a database waits for its readers, and again after it has interrupted them.
_PATIENCE_SECONDS: Final = 2.0

#: The files of a database: itself, its log, the note, and the verdict on the run.
_SUFFIXES: Final = (".duckdb", ".duckdb.wal", ".folder", ".verdict")
_NAME: Final = re.compile(r"[0-9a-f]{32}\.duckdb")

_open_paths: set[Path] = set()
_open_paths_lock = threading.Lock()  # guards _open_paths


def cache_folder() -> Path:
    """Return ``$TB_DEBUGGER_CACHE``, else ``tb_debugger_plugin`` in the user's cache folder."""
    chosen = os.environ.get(_ENVIRONMENT)
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tb_debugger_plugin"


def database_path(run: FoundRun) -> Path:
    """Return the path of the run's database; its name is a hash of the run's absolute folder and id."""
    key = f"{run.folder.resolve()}\0{run.run_id}"
    return cache_folder() / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.duckdb"


def verdict_path(run: FoundRun) -> Path:
    """Return the path of what was said of a run; the file goes with its database."""
    return database_path(run).with_suffix(".verdict")


@dataclass
class Database:
    """An open database; lives from :func:`open_database` to :meth:`close`.

    Attributes:
      connection: The writer's connection.
      path: The file.
      private: Whether the file is in a temporary folder, which closing deletes.
    """

    connection: duckdb.DuckDBPyConnection
    path: Path
    private: bool
    # Guards the two fields below.
    _reader_ended: threading.Condition = field(default_factory=threading.Condition, repr=False)
    _cursors: list[duckdb.DuckDBPyConnection] = field(default_factory=list, repr=False)
    _closed: bool = False

    @property
    def closed(self) -> bool:
        """Whether the database is closed or being closed."""
        with self._reader_ended:
            return self._closed

    @contextlib.contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Give a connection for one reader, in one thread.

        Raises:
          duckdb.Error: The database is closed.
        """
        with self._reader_ended:
            if self._closed:
                raise duckdb.ConnectionException("The database is closed.")
            cursor = self.connection.cursor()
            schema.know_tables(cursor, _ATTACHED)
            self._cursors.append(cursor)
        try:
            yield cursor
        finally:
            with self._reader_ended:
                self._cursors.remove(cursor)
                self._reader_ended.notify_all()
            cursor.close()

    def close(self) -> None:
        """Close the database after its readers have ended or were interrupted; delete it if private."""
        with self._reader_ended:
            self._closed = True
            if not self._reader_ended.wait_for(lambda: not self._cursors, _PATIENCE_SECONDS):
                for cursor in self._cursors:
                    cursor.interrupt()
                self._reader_ended.wait_for(lambda: not self._cursors, _PATIENCE_SECONDS)
            # A connection cannot be closed while one of its cursors is working; that cursor ends it later.
            with contextlib.suppress(duckdb.Error):
                self.connection.close()
        if self.private:
            shutil.rmtree(self.path.parent, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                os.utime(_note_path(self.path))
        with _open_paths_lock:
            _open_paths.discard(self.path)


def copies_folder(database: Path) -> Path:
    """Return the folder beside a database for copies of remote files that DuckDB reads."""
    return database.absolute().with_suffix(".copies")


def open_database(run: FoundRun, folders: Sequence[Path] = ()) -> Database:
    """Open the run's database, or an empty one when there is none that can be used.

    Args:
      run: The run.
      folders: Folders that statements may read and write, as an export does.

    Returns:
      A database with all tables of the present schema. It is private when the file in the cache is open in
      another process, is damaged, or cannot be written.
    """
    path = database_path(run)
    with _open_paths_lock:
        taken = path in _open_paths
        _open_paths.add(path)
    connection = None if taken else _connect_cached(path)
    if connection is not None:
        _shut(connection, run, path, folders)
        with contextlib.suppress(OSError):
            _note_path(path).write_text(str(run.folder.resolve()), encoding="utf-8")
        return Database(connection, path, private=False)
    if not taken:
        with _open_paths_lock:
            _open_paths.discard(path)
    private = Path(tempfile.mkdtemp(prefix="tb_debugger_")) / "run.duckdb"
    connection = _connect(private)
    _shut(connection, run, private, folders)
    with _open_paths_lock:
        _open_paths.add(private)
    return Database(connection, private, private=True)


def give_back_memory() -> None:
    """Give memory that is free back to the system, unless a database of this process is open."""
    with _open_paths_lock:
        if _open_paths:
            return
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
    if trim is not None:
        trim(0)


def _shut(connection: duckdb.DuckDBPyConnection, run: FoundRun, path: Path, folders: Sequence[Path]) -> None:
    """Shut out the other files of this machine, for all connections and permanently: users write queries."""
    tables = run.folder if isinstance(run.folder, Path) else copies_folder(path)
    open_folders = [*folders, *([tables] if run.kind is RunKind.TABLES else ())]
    listed = ", ".join(quoted(folder.absolute()) for folder in open_folders)
    connection.execute(f"SET allowed_directories = [{listed}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _connect_cached(path: Path) -> duckdb.DuckDBPyConnection | None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return _connect(path)
    except duckdb.IOException as error:
        if "lock" in str(error).lower():
            return None
    except (duckdb.Error, OSError):
        pass
    return _remove_and_connect(path)


def _remove_and_connect(path: Path) -> duckdb.DuckDBPyConnection | None:
    try:
        remove_database(path)
        return _connect(path)
    except (duckdb.Error, OSError):
        return None


def _note_path(path: Path) -> Path:
    return path.with_suffix(".folder")


@dataclass(frozen=True)
class Cached:
    """A database in the cache folder.

    Attributes:
      path: The file.
      size: Bytes of all its files.
      used: When it was last opened or closed, in seconds since the epoch.
      folder: The folder of its run; empty when it is not known.
    """

    path: Path
    size: int
    used: float
    folder: str

    @property
    def is_gone(self) -> bool:
        """Whether the folder of the run was on this machine and no longer exists."""
        is_local = self.folder and "://" not in self.folder
        return bool(is_local) and not os.path.exists(self.folder)


def databases() -> list[Cached]:
    """List the databases in the cache folder by name; links and files with other names are not ours."""
    try:
        with os.scandir(cache_folder()) as entries:
            names = [
                entry.name for entry in entries if _NAME.fullmatch(entry.name) and not entry.is_symlink()
            ]
    except OSError:
        return []
    return [_cached(cache_folder() / name) for name in sorted(names)]


def _cached(path: Path) -> Cached:
    size, used, folder = 0, 0.0, ""
    for suffix in _SUFFIXES:
        with contextlib.suppress(OSError):
            status = path.with_suffix(suffix).lstat()
            size, used = size + status.st_size, max(used, status.st_mtime)
    with contextlib.suppress(OSError, UnicodeDecodeError):
        folder = _note_path(path).read_text(encoding="utf-8")
    return Cached(path, size, used, folder)


@contextlib.contextmanager
def _reserved(path: Path) -> Iterator[bool]:
    """Give whether no viewer of any process has a database open; none can open it inside the block."""
    with _open_paths_lock, contextlib.ExitStack() as stack:
        free = path not in _open_paths
        if free:
            try:
                stack.enter_context(duckdb.connect(str(path), read_only=True))
            except duckdb.IOException as error:
                free = "lock" not in str(error).lower()
            except duckdb.Error:
                pass  # damaged, so no viewer uses it
        yield free


@contextlib.contextmanager
def not_used(path: Path) -> Iterator[None]:
    """Keep when a database was last used: what is read inside the block is not what a user looks at.

    A database that is made inside the block is the first to be deleted.

    Args:
      path: The file.
    """
    used = _cached(path).used
    try:
        yield
    finally:
        for suffix in _SUFFIXES:
            with contextlib.suppress(OSError):
                os.utime(path.with_suffix(suffix), (used, used))


def is_in_use(path: Path) -> bool:
    """Whether a viewer, of this process or another, has a database open."""
    with _reserved(path) as free:
        return not free


def remove_unused(path: Path) -> bool:
    """Delete a database, unless a viewer, of this process or another, has it open.

    Args:
      path: The file.

    Returns:
      Whether it was deleted.
    """
    with _reserved(path) as free:
        if free:
            remove_database(path)
        return free


def remove_database(path: Path) -> None:
    """Delete all files of a database."""
    for suffix in _SUFFIXES:
        path.with_suffix(suffix).unlink(missing_ok=True)
    shutil.rmtree(copies_folder(path), ignore_errors=True)  # of a viewer that was killed


def explained(error: BaseException, path: Path) -> BaseException:
    """Return the error that ended the use of a database; one that says what to do if its disk is full.

    Args:
      error: What was raised.
      path: The file of the database.
    """
    # DuckDB has no type for it, but quotes the operating system.
    if not any(os.strerror(number) in str(error) for number in (errno.ENOSPC, errno.EDQUOT)):
        return error
    return OSError(
        f"the disk with the folder of the tables, {path.parent}, is full. Make room there (`tbdbg clean`"
        f" deletes tables that can be built again), or set {_ENVIRONMENT} to a folder on another disk"
    )


@functools.cache
def _config() -> dict[str, str | bool | int | float | list[str]]:
    # From DuckDB 2.0 on, each database has eight more threads for files; older ones reject the setting.
    with duckdb.connect(":memory:", config=_CONFIG) as connection:
        query = "SELECT name FROM duckdb_settings() WHERE name = 'async_threads'"
        return {**_CONFIG, **{name: 1 for (name,) in connection.execute(query).fetchall()}}


def _connect(path: Path) -> duckdb.DuckDBPyConnection:
    if path.exists():
        connection = _attach(path)
        version = schema.read_meta(connection).get("schema_version")
        if version == str(schema.SCHEMA_VERSION):
            schema.know_tables(connection)
            return connection
        connection.close()
    remove_database(path)
    connection = _attach(path)
    # In one transaction, because each commit waits for the disk.
    connection.execute("BEGIN")
    schema.create_tables(connection)
    connection.execute("COMMIT")
    return connection


def _attach(path: Path) -> duckdb.DuckDBPyConnection:
    """Attach a file to a database in memory: only ATTACH can set the size of its row groups."""
    connection = duckdb.connect(config={**_config(), "temp_directory": f"{path}.tmp"})
    try:
        connection.execute(f"ATTACH {quoted(path)} AS {_ATTACHED} (TYPE duckdb, ROW_GROUP_SIZE {ROW_GROUP})")
        connection.execute(f"USE {_ATTACHED}")
    except BaseException:
        connection.close()
        raise
    return connection


_logger = logging.getLogger(__name__)

_LIMIT_VARIABLE: Final = "TB_DEBUGGER_CACHE_GB"
_DEFAULT_GB: Final = 2.0
#: Deleting continues to this share of the limit, so that not every run that is opened deletes another one.
_SHARE_LEFT: Final = 0.8


def cache_limit() -> int:
    """Return the limit of the cache folder in bytes; databases in use may exceed it."""
    text = os.environ.get(_LIMIT_VARIABLE, "")
    try:
        limit = float(text) if text else _DEFAULT_GB
    except ValueError:
        limit = math.nan
    if not (math.isfinite(limit) and limit >= 0):
        _logger.warning("%s must be a number of GiB, but is %r; the debugger uses 2.", _LIMIT_VARIABLE, text)
        limit = _DEFAULT_GB
    return int(limit * 2**30)


def keep_cache_small() -> None:
    """Delete unused databases while the cache folder is above its limit."""
    limit, cached = cache_limit(), databases()
    total = sum(database.size for database in cached)
    if total <= limit:
        return
    for database in sorted(cached, key=lambda entry: (not entry.is_gone, entry.used)):
        if total <= limit * _SHARE_LEFT:
            return
        try:
            total -= database.size if remove_unused(database.path) else 0
        except OSError as error:
            _logger.warning("The tables %s cannot be deleted: %s", database.path, error)
