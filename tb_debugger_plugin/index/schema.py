"""The tables of a run's database; ``docs/schema.md`` explains each column.

Rows of the two long lists, ``executions`` and ``graph_executions``, have a dense position ``idx`` from 0, so
a page is a range of it and never needs an OFFSET. Values that repeat are stored once, in tables with small
integer keys.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Final

import duckdb

from tb_debugger_plugin.events.modes import STORED
from tb_debugger_plugin.index.rows import NUMBERS, ROWS, kinds_of

#: Incremented whenever a table changes; a database of another version is deleted and built again.
SCHEMA_VERSION: Final = 11

#: The columns of every measured tensor, in ``graph_executions`` and in ``execution_outputs``.
SUMMARY: Final = """
  tensor_id BIGINT, device_id INTEGER, mode UTINYINT NOT NULL, health UTINYINT NOT NULL,
  dtype UTINYINT NOT NULL, rank SMALLINT NOT NULL, shape INTEGER NOT NULL,
""" + ", ".join(f"{name} DOUBLE" for name in STORED)

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
    """The columns of a table with rows in :mod:`tb_debugger_plugin.index.rows`."""
    number = [f"{NUMBERS[name]} INTEGER"] if name in NUMBERS else []
    return ", ".join(
        number + [f"{column} {_SQL_TYPES[kind]}" for column, kind in kinds_of(ROWS[name]).items()]
    )


TABLES: Final[dict[str, str]] = {
    "meta": "key VARCHAR NOT NULL, value VARCHAR NOT NULL",
    **{name: _short_table(name) for name in ROWS},
    "executions": """idx BIGINT NOT NULL, host INTEGER NOT NULL, wall_time DOUBLE NOT NULL, position BIGINT,
        op_type INTEGER NOT NULL, graph INTEGER NOT NULL, stack INTEGER NOT NULL, thread INTEGER NOT NULL,
        mode UTINYINT NOT NULL, health UTINYINT NOT NULL,
        num_inputs INTEGER NOT NULL, num_outputs INTEGER NOT NULL, num_values INTEGER NOT NULL""",
    "execution_inputs": "idx BIGINT NOT NULL, slot INTEGER NOT NULL, tensor_id BIGINT NOT NULL",
    "execution_outputs": "idx BIGINT NOT NULL, slot INTEGER NOT NULL, host INTEGER NOT NULL,"
    " has_value BOOLEAN NOT NULL," + SUMMARY,
    "graph_executions": "idx BIGINT NOT NULL, wall_time DOUBLE NOT NULL, site INTEGER NOT NULL,"
    " position BIGINT," + SUMMARY.replace("device_id INTEGER", "device_id SMALLINT"),
    "bad_graph_executions": "bad BIGINT NOT NULL, idx BIGINT NOT NULL",
}

#: The beginning of the keys of ``meta`` that say at which generation the rows of a table last changed.
CHANGED: Final = "changed_"
#: The tables that have such a key; the others are written by each commit.
MARKED: Final = tuple(name for name in TABLES if name not in ("meta", "files"))

#: The beginning of the keys of ``meta`` with the number of rows of a table: to count them takes a reader as
#: long as to find a row.
NUM_ROWS: Final = "num_"
#: The tables that have such a key.
LISTS: Final = ("sites", "executions", "graph_executions", "bad_graph_executions")

#: Tables whose rows after a position are deleted when a circular buffer turns.
PROVISIONAL: Final = ("executions", "execution_inputs", "execution_outputs")


def create_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Create all tables in an empty database and store the schema's version in it."""
    for name, columns in TABLES.items():
        connection.execute(f"CREATE TABLE {name} ({columns})")
    write_meta(connection, schema_version=SCHEMA_VERSION, generation=_first_generation())


def empty_tables(connection: duckdb.DuckDBPyConnection, **values: object) -> None:
    """Delete all rows, and set key-value facts, inside the caller's transaction."""
    for name in TABLES:
        connection.execute(f"DELETE FROM {name} WHERE true")
    write_meta(connection, schema_version=SCHEMA_VERSION, **values)


def _first_generation() -> int:
    # When a run is deleted and recorded again, or read again, a page must not take the new tables for the old
    # ones. If both counted from 1, it could.
    return time.time_ns() // 1_000_000


@contextlib.contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Commits what the block writes, or nothing if the block fails."""
    connection.execute("BEGIN")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def read_meta(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Returns the key-value facts about the database; empty when it is not one of ours."""
    try:
        return dict(connection.execute("SELECT key, value FROM meta").fetchall())
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
