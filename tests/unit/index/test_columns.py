"""`index/columns.py`: columns of Python values and arrays become rows, in every form that DuckDB accepts."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from tb_debugger_plugin.index.columns import insert, insert_rows, measured

#: More than any DuckDB samples.
_MANY = 5000
_TYPES = {"O": "VARCHAR", "?": "BOOLEAN", "i8": "BIGINT", "u1": "UTINYINT", "f8": "DOUBLE"}


def _some(value, place):
    return [value if number == place else None for number in range(_MANY)]


_COLUMNS = {
    "texts, all NULL": ("O", [None] * _MANY),
    "texts, one at the end": ("O", _some("x", _MANY - 1)),
    "texts, one between": ("O", _some("x", 1777)),
    "texts, one at the beginning": ("O", _some("x", 0)),
    "texts, one NULL": ("O", [None, *(f"text {number}" for number in range(_MANY))]),
    "texts, empty and long and foreign": ("O", ["", None, "long " * 9999, "−∞ \0 €", "😀", None]),
    "truth values, all NULL": ("?", [None] * _MANY),
    "truth values, one at the end": ("?", _some(True, _MANY - 1)),
    "truth values, mixed": ("?", [True, None, False] * 999),
    "integers, all NULL": ("i8", [None] * _MANY),
    "integers, one at the end": ("i8", _some(-(2**63), _MANY - 1)),
    "integers, mixed": ("i8", [0, None, 2**63 - 1] * 999),
    "small integers, mixed": ("u1", [0, None, 255] * 999),
    "numbers, mixed": ("f8", [0.0, None, 1e308] * 999),
}


@pytest.mark.parametrize("rows", [slice(None), slice(40), slice(-40, None)], ids=["all", "first", "last"])
@pytest.mark.parametrize(("kind", "values"), _COLUMNS.values(), ids=_COLUMNS)
def test_what_is_inserted_is_what_can_be_read(kind, values, rows):
    values = values[rows]
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE found (number INTEGER, value {_TYPES[kind]})")
        insert_rows(connection, "found", {"number": "i4", "value": kind}, list(enumerate(values)))
        rows = connection.execute("SELECT value FROM found ORDER BY number").fetchall()
        assert [value for (value,) in rows] == values


@pytest.mark.parametrize("numbers", [[1.0, np.nan, np.inf, -np.inf, 2.0], [np.nan] * 3, [1.0]])
def test_what_was_not_measured_is_null(numbers):
    column = measured(np.array(numbers))
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE found (number INTEGER, value DOUBLE)")
        columns = {"number": np.arange(len(numbers))}
        insert(connection, "found", columns if column is None else {**columns, "value": column})
        rows = connection.execute("SELECT value FROM found ORDER BY number").fetchall()
        assert [value for (value,) in rows] == [value if np.isfinite(value) else None for value in numbers]


def test_what_is_wrong_with_rows_is_what_is_raised_also_in_a_transaction():
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE found (number INTEGER NOT NULL)")
        connection.execute("BEGIN")
        column = np.ma.array(np.zeros(_MANY, np.int32), mask=np.arange(_MANY) == 7)
        with pytest.raises(duckdb.ConstraintException):
            insert(connection, "found", {"number": column})


class _Taker:
    """Stands in for a connection, and keeps what it is handed."""

    def register(self, name, columns):
        self.columns = columns

    def execute(self, query):
        self.query = query

    def unregister(self, name):
        pass


@pytest.mark.parametrize(("kind", "values"), _COLUMNS.values(), ids=_COLUMNS)
def test_no_duckdb_is_handed_masks_or_none(kind, values):
    taker = _Taker()
    # Few rows are handed over as lists, in which None is NULL.
    insert_rows(taker, "found", {"number": "i4", "value": kind}, list(enumerate(values * 100)))
    for column in taker.columns.values():
        assert not isinstance(column, np.ma.MaskedArray)
        assert not any(value is None for value in column.tolist())
