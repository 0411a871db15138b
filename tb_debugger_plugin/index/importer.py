"""Parquet tables into a run's database, step by step.

In come a run that is a folder of tables and its open database; each :meth:`Importer.step` takes in the files
of one step of the manifest and commits them. It has the methods of
:class:`~tb_debugger_plugin.index.indexer.Indexer`, so a loader need not know which of them it drives.

Rule: positions in the long lists are dense, as everybody relies on; files that say otherwise are refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import duckdb

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.index import schema
from tb_debugger_plugin.index.indexer import Progress
from tb_debugger_plugin.index.parquet import MANIFEST, STABLE, quoted, read_manifest
from tb_debugger_plugin.index.runs import Run

_POSITIONS: Final = {"executions": "idx", "graph_executions": "idx", "bad_graph_executions": "bad"}


class Importer:
    """Keeps the database of a folder of tables up to date; lives from its making to :meth:`close`.

    Args:
      run: The run.
      connection: To its database; may hold what an earlier importer committed.

    Raises:
      FormatError: The tables are not such as this viewer reads.
      OSError: They cannot be read.
    """

    #: Nothing is added to tables.
    finished: Final = True

    def __init__(self, run: Run, connection: duckdb.DuckDBPyConnection) -> None:
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
        with self._transaction():
            for table in schema.TABLES:
                self._connection.execute(f"DELETE FROM {table} WHERE true")
            schema.write_meta(
                self._connection,
                schema_version=schema.SCHEMA_VERSION,
                generation=generation,
                manifest=self._digest,
                steps_done=0,
            )

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise

    def signature(self) -> tuple[tuple[int, ...], ...]:
        """Changes whenever the tables were written again."""
        status = (self._run.folder / MANIFEST).stat()
        return ((status.st_size, status.st_mtime_ns),)

    def was_replaced(self) -> bool:
        """Whether the tables are others now."""
        return self._digest_now() != self._digest

    def reset(self) -> None:
        """Forget all rows and take in everything again."""
        self._open()
        self._empty()
        self.generation, self._done = self.generation + 1, 0

    def step(self) -> Progress:
        """Take in and commit the files of the next step.

        Returns:
          How far it has come; call again at once while ``more``.

        Raises:
          FormatError: The rows do not fit together.
          duckdb.Error: A file cannot be read, or the database not be written.
        """
        if self._done < len(self._manifest.steps):
            with self._transaction():
                for table, name in self._manifest.steps[self._done].items():
                    if table == "meta":
                        continue  # of the database that was written; this one has its own
                    with _on_this_machine(self._run.folder / name) as path:
                        self._take_in(table, path)
                self._save()
            self.generation, self._done = self.generation + 1, self._done + 1
        done = sum(self._sizes[: self._done])
        return Progress(self.generation, done, sum(self._sizes), self._done < len(self._sizes))

    def _take_in(self, table: str, path: Path) -> None:
        if table in _POSITIONS:
            self._check_positions(table, path)
        self._connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM read_parquet({quoted(path)})")

    def _check_positions(self, table: str, path: Path) -> None:
        column = _POSITIONS[table]
        query = f"SELECT count(*), min({column}), max({column}) FROM read_parquet({quoted(path)})"
        count, first, last = self._connection.execute(query).fetchall()[0]
        have = self._count(table)
        if count and (first, last) != (have, have + count - 1):
            raise FormatError(f"{path.name} holds the rows {first} to {last}, but the next one is {have}.")

    def _count(self, table: str) -> int:
        return int(self._connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])

    def _save(self) -> None:
        counts = {name: self._count(table) for name, table in STABLE.items()}
        stable = {
            f"stable_{name}": min(count, self._manifest.stable.get(name, count))
            for name, count in counts.items()
        }
        # Graphs and ops all come with the first step.
        described = {} if self._done else {"catalog_generation": self.generation + 1}
        schema.write_meta(
            self._connection, generation=self.generation + 1, steps_done=self._done + 1, **described, **stable
        )

    def close(self) -> None:
        """Nothing to end."""


@contextlib.contextmanager
def _on_this_machine(place: Location) -> Iterator[Path]:
    """A file, or a copy of one that is elsewhere, for as long as the block runs."""
    if isinstance(place, Path):
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="tb_debugger_") as folder:
        copy = Path(folder) / place.name
        with place.open("rb") as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target)
        yield copy
