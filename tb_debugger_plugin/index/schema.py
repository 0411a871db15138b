"""The tables of a run's database; ``docs/schema.md`` explains each column.

Rows of the two long lists, ``executions`` and ``graph_executions``, have a dense position ``idx`` from 0, so
a page is a range of it and never needs an OFFSET. Values that repeat are stored once, in tables with small
integer keys.

The tables are in a schema of their own, ``internal``, which each connection searches first, so a bare name is
a table. What users are told of first, the views of `analysis/lists/views.py`, is outside of it.

Invariant: a column of a measured number takes time and room only in runs that have measured it. In other runs
it is a generated column, which is NULL.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from typing import Final

import duckdb

from tb_debugger_plugin.events.modes import STORED
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.index.columns import insert
from tb_debugger_plugin.index.rows import NUMBERS, ROWS, kinds_of

#: Incremented whenever a table changes; a database of another version is deleted and built again.
SCHEMA_VERSION: Final = 16

#: The schema of the tables in the database.
INTERNAL: Final = "internal"

#: The columns of every tensor, in the tables of :data:`TENSORS`, before those of `modes.STORED`. Where nearly
#: all rows are equal, DuckDB need not look for the best compression: rows are written 4 % faster.
_TENSOR: Final = """
  tensor_id BIGINT, device_id INTEGER USING COMPRESSION rle,
  mode UTINYINT NOT NULL USING COMPRESSION rle, health UTINYINT NOT NULL,
  dtype UTINYINT NOT NULL, rank SMALLINT NOT NULL, shape INTEGER NOT NULL"""

_SQL_TYPES: Final = {
    "i8": "BIGINT",
    "i4": "INTEGER",
    "i2": "SMALLINT",
    "u1": "UTINYINT",
    "f8": "DOUBLE",
    "?": "BOOLEAN",
    "O": "VARCHAR",
}


def _short_table(name: str) -> str:
    """Return the columns of a table with rows in :mod:`tb_debugger_plugin.index.rows`."""
    number = [f"{NUMBERS[name]} INTEGER"] if name in NUMBERS else []
    return ", ".join(
        number + [f"{column} {_SQL_TYPES[kind]}" for column, kind in kinds_of(ROWS[name]).items()]
    )


#: The tables by name. Those of :data:`TENSORS` also have a column for each of `modes.STORED`.
TABLES: Final[dict[str, str]] = {
    "meta": "key VARCHAR NOT NULL, value VARCHAR NOT NULL",
    **{name: _short_table(name) for name in ROWS},
    "executions": """idx BIGINT NOT NULL, host INTEGER NOT NULL, wall_time DOUBLE NOT NULL, position BIGINT,
        step INTEGER NOT NULL USING COMPRESSION rle,
        op_type INTEGER NOT NULL, graph INTEGER NOT NULL, stack INTEGER NOT NULL, thread INTEGER NOT NULL,
        mode UTINYINT NOT NULL, health UTINYINT NOT NULL,
        num_inputs INTEGER NOT NULL, num_outputs INTEGER NOT NULL, num_values INTEGER NOT NULL""",
    "execution_inputs": "idx BIGINT NOT NULL, slot INTEGER NOT NULL, tensor_id BIGINT NOT NULL",
    "execution_outputs": "idx BIGINT NOT NULL, slot INTEGER NOT NULL, host INTEGER NOT NULL,"
    " has_value BOOLEAN NOT NULL," + _TENSOR,
    "graph_executions": "idx BIGINT NOT NULL, wall_time DOUBLE NOT NULL, site INTEGER NOT NULL,"
    " position BIGINT, step INTEGER NOT NULL USING COMPRESSION rle,"
    + _TENSOR.replace("device_id INTEGER", "device_id SMALLINT"),
    "bad_graph_executions": "bad BIGINT NOT NULL, idx BIGINT NOT NULL",
}

#: The tables with a row for each recorded tensor.
TENSORS: Final = ("execution_outputs", "graph_executions")

#: The beginning of the keys of ``meta`` that say at which generation the rows of a table last changed.
CHANGED: Final = "changed_"
#: The tables that have such a key; the others are written by each commit.
MARKED: Final = tuple(name for name in TABLES if name not in ("meta", "files"))

#: The beginning of the keys of ``meta`` with the number of rows of a table: to count them takes a reader as
#: long as to find a row.
NUM_ROWS: Final = "num_"
#: The tables that have such a key.
LISTS: Final = ("sites", "executions", "graph_executions", "bad_graph_executions")

#: The only keys of ``meta`` in a database without any row.
_FACTS_OF_NEW: Final = ("schema_version", "generation")

#: Tables whose rows after a position are deleted when a circular buffer turns.
PROVISIONAL: Final = ("executions", "execution_inputs", "execution_outputs")


def create_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Create all tables in an empty database and store the schema's version in it.

    The connection then knows them by their bare names; others need :func:`know_tables`.
    """
    connection.execute(f"CREATE SCHEMA {INTERNAL}")
    know_tables(connection)
    for name in TABLES:
        _create_table(connection, name, measured=())
    write_meta(connection, **dict(zip(_FACTS_OF_NEW, (SCHEMA_VERSION, _first_generation()), strict=True)))


def know_tables(connection: duckdb.DuckDBPyConnection, database: str | None = None) -> None:
    """Let a connection, or a cursor, which has settings of its own, find the tables by their bare names.

    Args:
      connection: A connection.
      database: The name of the database with the tables; None = the one that the connection uses.
    """
    place = "" if database is None else f"{database}."
    connection.execute(f"SET search_path = '{place}{INTERNAL},{place}main'")


def _create_table(connection: duckdb.DuckDBPyConnection, name: str, measured: Iterable[str]) -> None:
    """Create an empty table; a table of tensors has room for the given columns of `modes.STORED`."""
    real = {*measured}
    numbers = [
        f"{column} DOUBLE" if column in real else f"{column} DOUBLE GENERATED ALWAYS AS (NULL) VIRTUAL"
        for column in (STORED if name in TENSORS else ())
    ]
    connection.execute(f"CREATE OR REPLACE TABLE {name} ({', '.join([TABLES[name], *numbers])})")


def append(connection: duckdb.DuckDBPyConnection, name: str, columns: dict[str, Array]) -> bool:
    """Append rows to any table, inside the caller's transaction; make room for what is measured.

    Args:
      connection: A connection to the run's database.
      name: The name of the table.
      columns: As for :func:`~tb_debugger_plugin.index.columns.insert`.

    Returns:
      Whether there were any rows.
    """
    if name in TENSORS:
        make_room(connection, name, columns)
    return insert(connection, name, columns)


def make_room(connection: duckdb.DuckDBPyConnection, name: str, columns: Iterable[str]) -> None:
    """Make room for numbers that are measured for the first time, inside the caller's transaction.

    Args:
      connection: A connection to the run's database.
      name: The name of a table of :data:`TENSORS`.
      columns: Names of columns that rows are to have; all but those of `modes.STORED` are always there.
    """
    room = measured_columns(connection, name)
    new = [column for column in STORED if column in {*columns} - room]
    if new and not connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchall():
        _create_table(connection, name, room | {*new})
        return
    for column in new:
        connection.execute(f"ALTER TABLE {name} DROP COLUMN {column}")
        connection.execute(f"ALTER TABLE {name} ADD COLUMN {column} DOUBLE")


def measured_columns(connection: duckdb.DuckDBPyConnection, name: str) -> set[str]:
    """Return the columns of `modes.STORED` that a table of :data:`TENSORS` has room for."""
    rows = connection.execute(f"PRAGMA table_info('{name}')").fetchall()
    return {column for _, column, _, _, default, _ in rows if default is None} & {*STORED}


def empty_tables(connection: duckdb.DuckDBPyConnection, **values: object) -> None:
    """Delete all rows, and set key-value facts, inside the caller's transaction."""
    is_new = read_meta(connection).keys() == {*_FACTS_OF_NEW}  # nothing was written since `create_tables`
    for name in () if is_new else TABLES:
        connection.execute(f"DELETE FROM {name} WHERE true")
    write_meta(connection, schema_version=SCHEMA_VERSION, **values)


def _first_generation() -> int:
    # When a run is deleted and recorded again, or read again, a page must not take the new tables for the old
    # ones. If both counted from 1, it could.
    return time.time_ns() // 1_000_000


@contextlib.contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Commit what the block writes, or nothing if the block fails."""
    connection.execute("BEGIN")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A COMMIT that failed has ended the transaction; the reason is its error, not that of the ROLLBACK.
        with contextlib.suppress(duckdb.Error):
            connection.execute("ROLLBACK")
        raise


def read_meta(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return the key-value facts about the database; empty when it is not one of ours."""
    try:
        return dict(connection.execute(f"SELECT key, value FROM {INTERNAL}.meta").fetchall())
    except duckdb.CatalogException:
        return {}


def write_meta(connection: duckdb.DuckDBPyConnection, **values: object) -> None:
    """Set key-value facts, inside the caller's transaction.

    The table has no primary key: with one, DuckDB 1.2 loses a row that is inserted again while a reader still
    sees the deleted one.
    """
    keys = list(values)
    connection.execute(f"DELETE FROM meta WHERE key IN ({', '.join('?' * len(keys))})", keys)
    connection.execute(
        "INSERT INTO meta SELECT unnest(?), unnest(?)", [keys, list(map(str, values.values()))]
    )
