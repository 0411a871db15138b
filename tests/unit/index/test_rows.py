"""`index/rows.py`: a row's class says which columns its table has, and of which types."""

from __future__ import annotations

from typing import NamedTuple

import duckdb
import pytest

from tb_debugger_plugin.index import rows
from tb_debugger_plugin.index.columns import insert_rows
from tb_debugger_plugin.index.schema import create_tables


class _Row(NamedTuple):
    count: int
    total: rows.BigInt | None
    rank: rows.SmallInt
    mode: rows.TinyInt
    seconds: float | None
    name: str | None
    known: bool


def test_a_column_has_the_type_of_its_field():
    kinds = {
        "count": "i4",
        "total": "i8",
        "rank": "i2",
        "mode": "u1",
        "seconds": "f8",
        "name": "O",
        "known": "?",
    }
    assert rows.kinds_of(_Row) == kinds


def test_every_class_of_rows_has_a_table():
    classes = {value for name, value in vars(rows).items() if name.endswith("Row")}
    assert classes == set(rows.ROWS.values())


@pytest.mark.parametrize("table", rows.ROWS)
def test_a_row_is_read_as_it_was_written(table):
    """With the largest value of each type, so that a column that is too narrow fails."""
    largest = {"i4": 2**31 - 1, "i8": 2**63 - 1, "i2": 2**15 - 1, "u1": 255, "f8": 0.1, "O": "∞", "?": True}
    kinds = rows.kinds_of(rows.ROWS[table])
    if table in rows.NUMBERS:
        kinds = {rows.NUMBERS[table]: "i4", **kinds}
    row = tuple(largest[kind] for kind in kinds.values())
    with duckdb.connect() as connection:
        create_tables(connection)
        insert_rows(connection, table, kinds, [row])
        columns = ", ".join(f'"{name}"' for name in kinds)
        assert connection.execute(f"SELECT {columns} FROM {table}").fetchall() == [row]
