"""A folder of Parquet files that is a run: the tables of ``docs/schema.md`` and a manifest.

In comes a database, or what a pipeline made of a dump, out comes a folder that the viewer opens like event
files. The manifest is written last, so a folder without one is not finished, and nobody's run.

Rule: the names in a manifest are file names in its folder and nothing else.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import duckdb

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES
from tb_debugger_plugin.events.locations import Location
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
#: Tables in which rows may follow that a circular buffer would take back, by what ``meta`` calls them.
STABLE: Final = {
    EXECUTION: "executions",
    GRAPH_EXECUTION_TRACES: "graph_executions",
    "bad": "bad_graph_executions",
}
_NAME: Final = re.compile(r"[a-z_]+(-\d{5})?\.parquet")


@dataclass(frozen=True)
class Manifest:
    """What stands in the manifest.

    Attributes:
      schema_version: Of the tables.
      start_time: Of the run, in seconds.
      stable: How many rows of :data:`STABLE` are there for good.
      steps: File by table, in the order in which they are taken in; the first step has all short tables.
    """

    schema_version: int
    start_time: float
    stable: dict[str, int]
    steps: tuple[dict[str, str], ...]

    def text(self) -> str:
        """As it is written."""
        return json.dumps(asdict(self), indent=1)


def read_manifest(folder: Location) -> Manifest:
    """The manifest of a folder.

    Raises:
      FormatError: It is not one, or not one that this version reads.
      OSError: It cannot be read.
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
        raise FormatError(f"{MANIFEST} does not say which tables there are: {error!r}") from error
    _check(manifest)
    return manifest


def _check(manifest: Manifest) -> None:
    if manifest.schema_version != SCHEMA_VERSION:
        raise FormatError(
            f"These tables are of version {manifest.schema_version}, and this viewer reads version"
            f" {SCHEMA_VERSION}: make them again from the event files."
        )
    for step in manifest.steps:
        for table, name in step.items():
            if table not in TABLES or not isinstance(name, str) or not _NAME.fullmatch(name):
                raise FormatError(f"{MANIFEST} names {name!r} for the table {table!r}.")


def quoted(path: Path) -> str:
    """A path as a literal of SQL."""
    return "'" + str(path).replace("'", "''") + "'"


def write_table(connection: duckdb.DuckDBPyConnection, table: str, path: Path) -> int:
    """Write one table as a Parquet file; how many rows it has."""
    query = f"COPY {table} TO {quoted(path)} (FORMAT parquet, COMPRESSION zstd)"
    return int(connection.execute(query).fetchall()[0][0])


def write_tables(connection: duckdb.DuckDBPyConnection, folder: Path, start_time: float) -> dict[str, int]:
    """Write all tables of a database, and a manifest.

    Args:
      connection: To the database.
      folder: An existing folder.
      start_time: Of the run, in seconds.

    Returns:
      How many rows each table has.

    Raises:
      OSError: The folder cannot be written.
      duckdb.Error: A file cannot be written.
    """
    (folder / MANIFEST).unlink(missing_ok=True)
    rows = {table: write_table(connection, table, folder / f"{table}.parquet") for table in TABLES}
    meta = read_meta(connection)
    stable = {name: int(meta.get(f"stable_{name}", "0")) for name in STABLE}
    short = {table: f"{table}.parquet" for table in TABLES if table not in LONG}
    steps = (short, {table: f"{table}.parquet" for table in LONG})
    (folder / MANIFEST).write_text(Manifest(SCHEMA_VERSION, start_time, stable, steps).text(), "utf-8")
    return rows
