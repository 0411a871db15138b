"""Imports Parquet tables into the database of a run, commit by commit.

Takes a run that is a folder of tables, and its open database. Each :meth:`Importer.advance` imports the files
of one part of the manifest and commits them. The class has the methods of
:class:`~tb_debugger_plugin.index.indexer.Indexer`, so a loader drives either in the same way.

Invariant: positions in the long lists are dense. Files with other positions are refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import duckdb

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.events.modes import STORED
from tb_debugger_plugin.index import schema
from tb_debugger_plugin.index.cache import copies_folder
from tb_debugger_plugin.index.indexer import LoadProgress
from tb_debugger_plugin.index.parquet import MANIFEST, STABLE, quoted, read_manifest
from tb_debugger_plugin.index.runs import FoundRun

_DATABASE: Final = "SELECT path FROM duckdb_databases() WHERE database_name = current_database()"
_POSITIONS: Final = {"executions": "idx", "graph_executions": "idx", "bad_graph_executions": "bad"}


class Importer:
    """Keeps the database of a folder of tables up to date; lives until :meth:`close`.

    Args:
      run: The run.
      connection: A connection to its database, which may hold commits of an earlier importer.

    Raises:
      FormatError: The tables are not tables that this viewer reads.
      OSError: The tables cannot be read.
    """

    #: True, because nothing is added to a folder of tables.
    finished: Final = True

    def __init__(self, run: FoundRun, connection: duckdb.DuckDBPyConnection) -> None:
        self._run = run
        self._connection = connection
        self._open()
        if schema.read_meta(connection).get("manifest") != self._digest:
            self._empty()
        meta = schema.read_meta(connection)
        self.generation, self._done = int(meta["generation"]), int(meta["steps_done"])

    def _open(self) -> None:
        self._manifest = read_manifest(self._run.folder)
        self._digest = self._digest_now()
        self._sizes = [
            sum((self._run.folder / name).stat().st_size for name in step.values())
            for step in self._manifest.steps
        ]

    def _digest_now(self) -> str:
        with (self._run.folder / MANIFEST).open("rb") as stream:
            return hashlib.sha256(repr(self.signature()).encode() + stream.read()).hexdigest()

    def _empty(self) -> None:
        generation = int(schema.read_meta(self._connection).get("generation", "0")) + 1
        with schema.transaction(self._connection):
            schema.empty_tables(self._connection, generation=generation, manifest=self._digest, steps_done=0)

    def signature(self) -> tuple[tuple[int, ...], ...]:
        """Return a value that changes whenever the tables are written again."""
        status = (self._run.folder / MANIFEST).stat()
        return ((status.st_size, status.st_mtime_ns),)

    def was_replaced(self) -> bool:
        """Whether the tables have changed since they were opened."""
        return self._digest_now() != self._digest

    def reset(self) -> None:
        """Forget all rows, so that everything is imported again."""
        self._open()
        self._empty()
        self.generation, self._done = self.generation + 1, 0

    def advance(self) -> LoadProgress:
        """Import and commit the files of the next part.

        Returns:
          The progress; call again at once while ``more``.

        Raises:
          FormatError: The rows do not fit together.
          duckdb.Error: A file cannot be read, or the database cannot be written.
        """
        if self._done < len(self._manifest.steps):
            with schema.transaction(self._connection):
                for table, name in self._manifest.steps[self._done].items():
                    if table == "meta":
                        continue  # describes the exported database; this one has its own
                    with self._on_this_machine(self._run.folder / name) as path:
                        self._import_file(table, path)
                self._save()
            self.generation, self._done = self.generation + 1, self._done + 1
        done = sum(self._sizes[: self._done])
        return LoadProgress(self.generation, done, sum(self._sizes), self._done < len(self._sizes))

    def _import_file(self, table: str, path: Path) -> None:
        if table in _POSITIONS:
            self._check_positions(table, path)
        columns = self._make_room(table, path) if table in schema.TENSORS else "*"
        self._connection.execute(
            f"INSERT INTO {table} BY NAME SELECT {columns} FROM read_parquet({quoted(path)})"
        )

    def _make_room(self, table: str, path: Path) -> str:
        """Make room for what the tensors of a file have; return the columns to import."""
        counts = ", ".join(f"count({name})" for name in STORED)
        query = f"SELECT {counts} FROM read_parquet({quoted(path)})"
        numbers = self._connection.execute(query).fetchall()[0]
        empty = [name for name, number in zip(STORED, numbers, strict=True) if not number]
        schema.make_room(self._connection, table, {*STORED} - {*empty})
        return f"* EXCLUDE ({', '.join(empty)})" if empty else "*"

    def _check_positions(self, table: str, path: Path) -> None:
        column = _POSITIONS[table]
        query = f"SELECT count(*), min({column}), max({column}) FROM read_parquet({quoted(path)})"
        count, first, last = self._connection.execute(query).fetchall()[0]
        expected = self._count(table)
        if count and (first, last) != (expected, expected + count - 1):
            raise FormatError(
                f"{path.name} holds the rows {first} to {last}, but the next row must be {expected}."
            )

    def _count(self, table: str) -> int:
        return int(self._connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])

    def _save(self) -> None:
        counts = {name: self._count(table) for name, table in STABLE.items()}
        stable = {
            f"stable_{name}": min(count, self._manifest.stable.get(name, count))
            for name, count in counts.items()
        }
        # All graphs and ops are in the first part.
        described = {} if self._done else {"catalog_generation": self.generation + 1}
        schema.write_meta(
            self._connection, generation=self.generation + 1, steps_done=self._done + 1, **described, **stable
        )

    def close(self) -> None:
        """Do nothing; there is nothing to end."""

    @contextlib.contextmanager
    def _on_this_machine(self, file: Location) -> Iterator[Path]:
        """Give a local file as DuckDB may read it, or a copy of a remote one while the block runs."""
        if isinstance(file, Path):
            yield file.absolute()
            return
        ((database,),) = self._connection.execute(_DATABASE).fetchall()
        folder = copies_folder(Path(database))
        folder.mkdir(mode=0o700)
        try:
            copy = folder / file.name
            with file.open("rb") as source, copy.open("wb") as target:
                shutil.copyfileobj(source, target)
            yield copy
        finally:
            shutil.rmtree(folder, ignore_errors=True)
