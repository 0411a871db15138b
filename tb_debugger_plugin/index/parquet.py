"""Reads and writes runs that are folders of Parquet files: the tables of ``docs/schema.md`` and a manifest.

Takes a database, or what a pipeline made of a dump, and writes a folder that the viewer opens like event
files. The manifest is written last, so a folder without one is not finished and is not a run.

Invariant: the names in a manifest are names of files in its folder and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import duckdb

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.index.columns import BATCH, register
from tb_debugger_plugin.index.schema import SCHEMA_VERSION, TABLES, read_meta

MANIFEST: Final = "tb_debugger_tables.json"
#: Tables as long as the run; the others are as long as the program.
LONG: Final = (
    "executions",
    "execution_inputs",
    "execution_outputs",
    "graph_executions",
    "bad_graph_executions",
)
#: Tables whose last rows may be those of a circular buffer, by their names in ``meta``.
STABLE: Final = {
    EXECUTION: "executions",
    GRAPH_EXECUTION_TRACES: "graph_executions",
    "bad": "bad_graph_executions",
}
_NAME: Final = re.compile(r"[a-z_]+(-\d{5})?\.parquet")


def is_of_tables(name: str) -> bool:
    """Whether a file of a folder of tables is the manifest, or may hold a table."""
    return name == MANIFEST or _NAME.fullmatch(name) is not None


@dataclass(frozen=True)
class Manifest:
    """The content of a manifest.

    Attributes:
      schema_version: The version of the tables.
      start_time: The start of the run, in seconds since the epoch.
      stable: The number of rows of each table of :data:`STABLE` that are never taken back.
      steps: File by table, in the order in which they are imported; the first part has all short tables.
    """

    schema_version: int
    start_time: float
    stable: dict[str, int]
    steps: tuple[dict[str, str], ...]

    def text(self) -> str:
        """Return the manifest as JSON."""
        return json.dumps(asdict(self), indent=1)


def read_manifest(folder: Location) -> Manifest:
    """Read the manifest of a folder.

    Raises:
      FormatError: The file is not a manifest, or not one that this version reads.
      OSError: The file cannot be read.
    """
    with (folder / MANIFEST).open("rb") as stream:
        content = stream.read()
    try:
        fields = json.loads(content)
        manifest = Manifest(
            int(fields["schema_version"]),
            float(fields["start_time"]),
            {str(name): int(count) for name, count in fields["stable"].items()},
            tuple(map(dict, fields["steps"])),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FormatError(f"{MANIFEST} does not list the tables: {error!r}") from error
    _check(manifest)
    return manifest


def _check(manifest: Manifest) -> None:
    if manifest.schema_version != SCHEMA_VERSION:
        raise FormatError(
            f"These tables have version {manifest.schema_version}, but this viewer reads version"
            f" {SCHEMA_VERSION}: make them again from the event files."
        )
    for step in manifest.steps:
        for table, name in step.items():
            if table not in TABLES or not isinstance(name, str) or not _NAME.fullmatch(name):
                raise FormatError(f"{MANIFEST} must not name {name!r} for the table {table!r}.")


def quoted(path: Path) -> str:
    """Return a path as an SQL literal."""
    return "'" + str(path).replace("'", "''") + "'"


def write_table(connection: duckdb.DuckDBPyConnection, table: str, path: Path) -> int:
    """Write one table as a Parquet file; return its number of rows."""
    return _copy(connection, table, path)


def write_columns(
    connection: duckdb.DuckDBPyConnection, table: str, columns: dict[str, Array], path: Path
) -> int:
    """Write rows as the Parquet file of a table, in half the time that they take through the table.

    Args:
      connection: A connection to a database that has the table.
      table: The name of the table; it stays as it is.
      columns: As for :func:`~tb_debugger_plugin.index.columns.insert`.
      path: Where to write.

    Returns:
      The number of rows.
    """
    types = connection.execute(f"DESCRIBE {table}").fetchall()
    values = register(connection, columns)
    of_table = [f'CAST({values.get(name, "NULL")} AS {kind}) AS "{name}"' for name, kind, *_ in types]
    rows = _copy(connection, f"(SELECT {', '.join(of_table)} FROM {BATCH})", path)
    connection.unregister(BATCH)
    return rows


def _copy(connection: duckdb.DuckDBPyConnection, rows: str, path: Path) -> int:
    query = f"COPY {rows} TO {quoted(path)} (FORMAT parquet, COMPRESSION zstd)"
    return int(connection.execute(query).fetchall()[0][0])


def write_tables(
    connection: duckdb.DuckDBPyConnection, folder: Path, start_time: float, views: Sequence[str]
) -> dict[str, int]:
    """Write all tables of a database, and a manifest.

    Args:
      connection: A connection to the database.
      folder: An existing folder.
      start_time: The start of the run, in seconds since the epoch.
      views: Views of the connection that are written too. The manifest does not name them: a viewer makes
        them of the tables.

    Returns:
      The number of rows of each table and view.

    Raises:
      OSError: The folder cannot be written.
      duckdb.Error: A file cannot be written.
    """
    (folder / MANIFEST).unlink(missing_ok=True)
    rows = {table: write_table(connection, table, folder / f"{table}.parquet") for table in (*views, *TABLES)}
    meta = read_meta(connection)
    stable = {name: int(meta.get(f"stable_{name}", "0")) for name in STABLE}
    short = {table: f"{table}.parquet" for table in TABLES if table not in LONG}
    steps = (short, {table: f"{table}.parquet" for table in LONG})
    (folder / MANIFEST).write_text(Manifest(SCHEMA_VERSION, start_time, stable, steps).text(), "utf-8")
    return rows
