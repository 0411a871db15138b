"""Writes the rows of a long list to a file: as CSV, as text with tabs, or as Parquet.

Takes a selection and the names of columns; writes what the pages of the list have, in their order, page by
page through a database in a temporary folder, so that memory does not depend on the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import duckdb
import numpy as np

from tb_debugger_plugin.analysis.lists.tables import ColumnPage
from tb_debugger_plugin.analysis.snapshot import Range
from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.events.dtypes import NAMES
from tb_debugger_plugin.events.modes import COUNTS, mode_name
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.index.columns import insert
from tb_debugger_plugin.index.tensors import BAD, GOOD


class Format(NamedTuple):
    """A kind of file.

    Attributes:
      options: The options of DuckDB's COPY.
      content_type: The MIME type.
    """

    options: str
    content_type: str


#: By the end of the name of the file.
FORMATS: Final = {
    "csv": Format("FORMAT csv, HEADER", "text/csv"),
    "tsv": Format("FORMAT csv, HEADER, DELIMITER '\t'", "text/tab-separated-values"),
    "parquet": Format("FORMAT parquet", "application/vnd.apache.parquet"),
}
#: The most rows of a file.
MOST_ROWS: Final = 1_000_000
_PAGE: Final = 50_000
#: Columns of numbers that stand for words.
_WORDS: Final[Mapping[str, Callable[[int], str | None]]] = {
    "dtype": NAMES.get,
    "mode": mode_name,
    **dict.fromkeys(("health", "call_health"), {BAD: "bad", GOOD: "good"}.get),
}
_TYPES: Final = {"f": "DOUBLE", "i": "BIGINT", "u": "BIGINT", "O": "VARCHAR"}


def write_rows(
    page_of: Callable[[Range], ColumnPage], names: Sequence[str], total: int, form: Format, folder: Path
) -> Path:
    """Write rows to a file in a folder, and return its path.

    Args:
      page_of: Returns a page of the rows.
      names: The columns, in order; none for all that the first rows have.
      total: The number of rows.
      form: The kind of file.
      folder: An empty folder, which holds the rows until they are written.

    Raises:
      BadQueryError: The rows have no such column.
    """
    path = folder / "rows"
    with duckdb.connect(str(folder / "rows.duckdb")) as database:
        for begin in range(0, max(total, 1), _PAGE):
            page = page_of(Range(begin, min(begin + _PAGE, total)))
            if not begin:
                names = names or list(page.columns)
            # Rows of another mode may measure less than the first ones.
            columns = {
                name: _values(page, name) if not begin or name in page.columns else _unknown(page)
                for name in names
            }
            if not begin:
                types = (f'"{name}" {_TYPES[values.dtype.kind]}' for name, values in columns.items())
                database.execute(f"CREATE TABLE rows ({', '.join(types)})")
            insert(database, "rows", columns)
        quoted = str(path).replace("'", "''")
        database.execute(f"COPY rows TO '{quoted}' ({form.options})")
    return path


def _unknown(page: ColumnPage) -> Array:
    nothing = np.full(page.range.end - page.range.begin, np.nan)
    return np.ma.array(nothing, mask=True)


def _values(page: ColumnPage, name: str) -> Array:
    """Return a column as what it means: words of numbers, NULL for what is not known."""
    values = page.columns.get(name)
    if values is None:
        raise BadQueryError(f"There is no column {name[:50]!r} here: choose from {', '.join(page.columns)}.")
    if name in page.dictionaries:
        return _texts(values, [*page.dictionaries[name], None])
    if name in _WORDS:
        return _texts(values, [_WORDS[name](number) for number in range(256)])
    if values.dtype.kind != "f":
        return values.astype(np.int64)
    if name in _WHOLE:
        return np.ma.array(np.nan_to_num(values, nan=-1).astype(np.int64), mask=np.isnan(values))
    return np.ma.array(values, mask=np.isnan(values))


#: Columns of floats that are whole numbers.
_WHOLE: Final = (
    *("index", "owner", "occurrence", "size", *COUNTS, "inf", "computed", "bad", "ops", "calls", "bad_calls"),
    *("first", "first_bad", "step", "call", "reads", "updates", "gradients", "bad_gradients", "variables"),
    *("session", "run"),
)


def _texts(codes: Array, texts: Sequence[str | None]) -> Array:
    known = np.array(["" if text is None else text for text in texts], object)
    unknown = np.array([text is None for text in texts])
    return np.ma.array(known[codes], mask=unknown[codes])
