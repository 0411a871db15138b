"""Columns on their way into a table: Python rows become NumPy arrays, and those one INSERT.

Rule: nothing is inserted row by row; DuckDB reads the arrays in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    # The processes that decode use no database, and it takes 14 MB.
    import duckdb

Array = npt.NDArray[Any]


def integers(values: Sequence[int | None], kind: str = "i8") -> Array:
    """A column of integers; None becomes NULL."""
    if kind == "?" and None in values:
        return np.array(values, dtype=object)  # DuckDB before 2.0 takes masked truth values for false
    if any(value is None for value in values):
        mask = [value is None for value in values]
        return np.ma.array([value or 0 for value in values], mask=mask, dtype=kind)
    return np.array(values, dtype=kind)


def texts(values: Sequence[str | None]) -> Array:
    """A column of strings; None becomes NULL."""
    return np.array(values, dtype=object)


def measured(values: npt.NDArray[np.float64]) -> Array | None:
    """A column of numbers whose NaN and infinities, which mean "not measured", become NULL.

    Returns:
      None when nothing was measured: a column that is left out of an INSERT is NULL.
    """
    finite = np.isfinite(values)
    if finite.all():
        return values
    return np.ma.array(values, mask=~finite) if finite.any() else None


def insert(connection: duckdb.DuckDBPyConnection, table: str, columns: dict[str, Array]) -> None:
    """Append rows to a table.

    Args:
      connection: With an open transaction.
      table: Its name.
      columns: Equally long arrays by column name.
    """
    if not len(next(iter(columns.values()))):
        return
    names = ", ".join(f'"{name}"' for name in columns)
    connection.register("_batch", columns)
    try:
        connection.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM _batch")
    finally:
        connection.unregister("_batch")


def insert_rows(
    connection: duckdb.DuckDBPyConnection, table: str, kinds: dict[str, str], rows: Sequence[tuple[Any, ...]]
) -> None:
    """Append Python rows to a table.

    Args:
      connection: With an open transaction.
      table: Its name.
      kinds: NumPy dtype by column name, in the order of the rows' fields; ``"O"`` for strings.
      rows: The rows.
    """
    if not rows:
        return
    fields = list(zip(*rows, strict=True))
    insert(
        connection,
        table,
        {
            name: texts(values) if kind == "O" else integers(values, kind)
            for (name, kind), values in zip(kinds.items(), fields, strict=True)
        },
    )
