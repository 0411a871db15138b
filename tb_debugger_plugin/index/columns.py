"""Writes columns into tables: Python rows become NumPy arrays, and the arrays one INSERT.

Invariant: nothing is inserted row by row. DuckDB reads long columns in place, and gets short ones as lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.events.numbers import Array

if TYPE_CHECKING:
    # The decoding processes do not use a database, and importing it takes 14 MB.
    import duckdb


#: The view of the columns that a query reads in place.
BATCH: Final = "_batch"
#: Rows of a row group of the tables. DuckDB gives a view of arrays to its threads in pieces of so many rows;
#: pieces that are row groups are compressed and written where they were read, side by side.
ROW_GROUP: Final = 102_400
#: Up to this many rows, DuckDB takes lists in half the time that it needs to make a view of arrays.
_FEW_ROWS: Final = 64


def integers(values: Sequence[int | None], kind: str = "i8") -> Array:
    """Make a column of integers; None becomes NULL."""
    return _without_none(values, 0, kind)


def texts(values: Sequence[str | None]) -> Array:
    """Make a column of strings; None becomes NULL."""
    return _without_none(values, "", "O")


def _without_none(values: Sequence[object], filler: object, kind: str) -> Array:
    mask = [value is None for value in values]
    if not any(mask):
        return np.array(values, dtype=kind)
    filled = np.array([filler if value is None else value for value in values], dtype=kind)
    return np.ma.array(filled, mask=mask)


def measured(values: npt.NDArray[np.float64]) -> Array | None:
    """Make a column of numbers. NaN and infinities mean "not measured" and become NULL.

    Returns:
      The column; None when nothing was measured, because a column that an INSERT leaves out is NULL.
    """
    finite = np.isfinite(values)
    if finite.all():
        return values
    return np.ma.array(values, mask=~finite) if finite.any() else None


def insert(connection: duckdb.DuckDBPyConnection, table: str, columns: dict[str, Array]) -> bool:
    """Append rows to a table, and return whether there were any.

    Args:
      connection: A connection with an open transaction.
      table: The name of the table.
      columns: Equally long arrays by column name; masked elements become NULL.
    """
    num_rows = len(next(iter(columns.values())))
    if not num_rows:
        return False
    if num_rows <= _FEW_ROWS:
        _insert_few(connection, table, columns)
        return True
    values = register(connection, columns)
    if not values:
        connection.execute(
            f'INSERT INTO {table} ("{next(iter(columns))}") SELECT NULL FROM range({num_rows})'
        )
        return True
    names = ", ".join(f'"{name}"' for name in values)
    # If this fails, the transaction is aborted, and `unregister` would fail too, with another reason.
    connection.execute(f"INSERT INTO {table} ({names}) SELECT {', '.join(values.values())} FROM {BATCH}")
    connection.unregister(BATCH)
    return True


def register(connection: duckdb.DuckDBPyConnection, columns: dict[str, Array]) -> dict[str, str]:
    """Let queries read columns in place, as the view :data:`BATCH`, until it is unregistered.

    Args:
      connection: Any connection.
      columns: As for :func:`insert`.

    Returns:
      The SQL of each value by column name, without the columns that are NULL everywhere.
    """
    arrays, values = _plain(columns)
    if arrays:  # DuckDB has no view without a column
        connection.register(BATCH, arrays)
    return values


def _insert_few(connection: duckdb.DuckDBPyConnection, table: str, columns: dict[str, Array]) -> None:
    names = ", ".join(f'"{name}"' for name in columns)
    lists = [column.tolist() for column in columns.values()]
    connection.execute(f"INSERT INTO {table} ({names}) SELECT {', '.join(['unnest(?)'] * len(lists))}", lists)


def _plain(columns: dict[str, Array]) -> tuple[dict[str, Array], dict[str, str]]:
    """Return columns that every version of DuckDB reads, and the SQL of each value by column name.

    DuckDB before 2.0 ignores masks, and 1.5 fails at a column of objects when all sampled values are None. So
    each mask becomes a column of its own, and columns that are NULL everywhere are left out.
    """
    arrays: dict[str, Array] = {}
    values: dict[str, str] = {}
    for name, column in columns.items():
        masked = isinstance(column, np.ma.MaskedArray)
        mask = np.ma.getmaskarray(column) if masked else np.zeros(1, bool)
        if mask.all():
            continue
        arrays[name], values[name] = np.ma.getdata(column), f'"{name}"'
        if mask.any():
            arrays[f"{name} is null"] = mask
            values[name] = f'CASE WHEN NOT "{name} is null" THEN "{name}" END'
    return arrays, values


def insert_rows(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    kinds: Mapping[str, str],
    rows: Sequence[tuple[object, ...]],
) -> None:
    """Append Python rows to a table.

    Args:
      connection: A connection with an open transaction.
      table: The name of the table.
      kinds: NumPy dtype by column name, in the order of the rows' fields; ``"O"`` for strings.
      rows: The rows.
    """
    if rows:
        insert_lists(connection, table, kinds, dict(zip(kinds, zip(*rows, strict=True), strict=True)))


def insert_lists(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    kinds: Mapping[str, str],
    lists: Mapping[str, Sequence[object]],
) -> None:
    """Append columns of Python values to a table.

    Args:
      connection: A connection with an open transaction.
      table: The name of the table.
      kinds: As for :func:`insert_rows`.
      lists: Equally long columns by name.
    """
    columns = {
        name: _without_none(lists[name], "" if kind == "O" else 0, kind) for name, kind in kinds.items()
    }
    insert(connection, table, columns)
