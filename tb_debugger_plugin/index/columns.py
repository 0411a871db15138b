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
    return _without_none(values, 0, kind)


def texts(values: Sequence[str | None]) -> Array:
    """A column of strings; None becomes NULL."""
    return _without_none(values, "", "O")


def _without_none(values: Sequence[Any], otherwise: Any, kind: str) -> Array:
    mask = [value is None for value in values]
    if not any(mask):
        return np.array(values, dtype=kind)
    filled = np.array([otherwise if value is None else value for value in values], dtype=kind)
    return np.ma.array(filled, mask=mask)


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
      columns: Equally long arrays by column name; what is masked becomes NULL.
    """
    if not len(next(iter(columns.values()))):
        return
    given, values = _plain(columns)
    names = ", ".join(f'"{name}"' for name in values)
    connection.register("_batch", given)
    try:
        connection.execute(f"INSERT INTO {table} ({names}) SELECT {', '.join(values.values())} FROM _batch")
    finally:
        connection.unregister("_batch")


def _plain(columns: dict[str, Array]) -> tuple[dict[str, Array], dict[str, str]]:
    """Columns as any DuckDB reads them, and the SQL of each value by the name of its column.

    DuckDB before 2.0 does not look at masks, and 1.5 fails at a column of objects when all that it samples
    are None. So where something is NULL is a column of its own, and what is NULL all over is left out.
    """
    given: dict[str, Array] = {}
    values: dict[str, str] = {}
    for name, column in columns.items():
        masked = isinstance(column, np.ma.MaskedArray)
        mask = np.ma.getmaskarray(column) if masked else np.zeros(1, bool)
        if mask.all():
            continue
        given[name], values[name] = np.ma.getdata(column), f'"{name}"'
        if mask.any():
            given[f"{name} is null"] = mask
            values[name] = f'CASE WHEN NOT "{name} is null" THEN "{name}" END'
    return given, values


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
