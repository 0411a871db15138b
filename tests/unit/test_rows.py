"""`index/rows.py`: the rows of the short tables fit their tables."""

from __future__ import annotations

import re

import pytest

from tb_debugger_plugin.index import rows, schema

_KINDS = {
    "INTEGER": "i4",
    "BIGINT": "i8",
    "SMALLINT": "i2",
    "UTINYINT": "u1",
    "DOUBLE": "f8",
    "BOOLEAN": "?",
    "VARCHAR": "O",
}
_ROWS = [value for name, value in vars(rows).items() if name.endswith("Row")]


@pytest.mark.parametrize("row_type", _ROWS)
def test_a_row_has_the_columns_of_its_table_and_their_types(row_type):
    (table,) = re.findall(r"^A row of ``(\w+)``", row_type.__doc__)
    columns = dict(column.split()[:2] for column in schema.TABLES[table].split(","))
    if "without its number" in row_type.__doc__:
        del columns[next(iter(columns))]
    assert rows.kinds_of(row_type) == {name: _KINDS[kind] for name, kind in columns.items()}
