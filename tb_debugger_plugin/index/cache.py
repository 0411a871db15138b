"""Where a run's database lives, and opening it.

The databases are a cache: they live outside the logdir (which may be read-only), and deleting them loses
nothing. DuckDB lets only one process hold a file; whoever comes second builds a private database in a
temporary folder, so that two viewers of one logdir both work.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import duckdb

from tb_debugger_plugin.index import schema
from tb_debugger_plugin.index.runs import Run

_ENVIRONMENT: Final = "TB_DEBUGGER_CACHE"
_CONFIG: Final[dict[str, str | bool | int | float | list[str]]] = {
    "memory_limit": "384MB",
    "threads": 2,
    "preserve_insertion_order": True,
    # Extensions would be fetched from the network.
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}

#: How long a database that is to be closed waits for its readers, and again when it has interrupted them.
_PATIENCE_SECONDS: Final = 2.0

_open_paths: set[Path] = set()
_open_paths_lock = threading.Lock()  # guards _open_paths


def cache_folder() -> Path:
    """``$TB_DEBUGGER_CACHE``, else ``tb_debugger_plugin`` in the user's cache folder."""
    chosen = os.environ.get(_ENVIRONMENT)
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tb_debugger_plugin"


def database_path(run: Run) -> Path:
    """Where the run's database is kept: a name made from its absolute folder and its id."""
    key = f"{run.folder.resolve()}\0{run.run_id}"
    return cache_folder() / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.duckdb"


@dataclass
class Database:
    """An open database; lives from :func:`open_database` to :meth:`close`.

    Attributes:
      connection: The writer's connection.
      path: Its file.
      private: Whether the file is in a temporary folder that closing deletes.
    """

    connection: duckdb.DuckDBPyConnection
    path: Path
    private: bool
    _left: threading.Condition = field(default_factory=threading.Condition, repr=False)  # guards these two
    _cursors: list[duckdb.DuckDBPyConnection] = field(default_factory=list, repr=False)
    _closed: bool = False

    @contextlib.contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection for one reader, in one thread.

        Raises:
          duckdb.Error: The database is closed.
        """
        with self._left:
            if self._closed:
                raise duckdb.ConnectionException("The database is closed.")
            cursor = self.connection.cursor()
            self._cursors.append(cursor)
        try:
            yield cursor
        finally:
            with self._left:
                self._cursors.remove(cursor)
                self._left.notify_all()
            cursor.close()

    def close(self) -> None:
        """Close the database, after its readers or in spite of them; a private one is deleted."""
        with self._left:
            self._closed = True
            if not self._left.wait_for(lambda: not self._cursors, _PATIENCE_SECONDS):
                for cursor in self._cursors:
                    cursor.interrupt()
                self._left.wait_for(lambda: not self._cursors, _PATIENCE_SECONDS)
            # A connection refuses to be closed while a cursor of it is at work; then that one ends it.
            with contextlib.suppress(duckdb.Error):
                self.connection.close()
        with _open_paths_lock:
            _open_paths.discard(self.path)
        if self.private:
            shutil.rmtree(self.path.parent, ignore_errors=True)


def open_database(run: Run) -> Database:
    """Open the run's database, or an empty one where there is none that can be used.

    Args:
      run: The run.

    Returns:
      A database with all tables of the present schema. A file that another process holds, that is damaged, or
      that cannot be written is replaced by a private one.
    """
    path = database_path(run)
    with _open_paths_lock:
        taken = path in _open_paths
        _open_paths.add(path)
    connection = None if taken else _connect_cached(path)
    if connection is not None:
        return Database(connection, path, private=False)
    if not taken:
        with _open_paths_lock:
            _open_paths.discard(path)
    private = Path(tempfile.mkdtemp(prefix="tb_debugger_")) / "run.duckdb"
    return Database(_connect(private), private, private=True)


def _connect_cached(path: Path) -> duckdb.DuckDBPyConnection | None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return _connect(path)
    except duckdb.IOException as error:
        if "lock" in str(error).lower():
            return None
    except (duckdb.Error, OSError):
        pass
    return _connect_anew(path)


def _connect_anew(path: Path) -> duckdb.DuckDBPyConnection | None:
    try:
        remove_database(path)
        return _connect(path)
    except (duckdb.Error, OSError):
        return None


def databases() -> list[Path]:
    """All databases in the cache folder."""
    return sorted(cache_folder().glob("*.duckdb"))


def is_in_use(path: Path) -> bool:
    """Whether a viewer, this process or another, has a database open."""
    with _open_paths_lock:
        if path in _open_paths:
            return True
    try:
        duckdb.connect(str(path), read_only=True).close()
    except duckdb.IOException as error:
        return "lock" in str(error).lower()
    except duckdb.Error:
        pass  # damaged, and so nobody's
    return False


def remove_database(path: Path) -> None:
    """Delete a database file with its log."""
    for victim in (path, path.with_name(path.name + ".wal")):
        victim.unlink(missing_ok=True)


def _connect(path: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(str(path), config=_CONFIG)
    found = schema.read_meta(connection).get("schema_version")
    if found == str(schema.SCHEMA_VERSION):
        return connection
    connection.close()
    remove_database(path)
    connection = duckdb.connect(str(path), config=_CONFIG)
    schema.create_tables(connection)
    return connection
