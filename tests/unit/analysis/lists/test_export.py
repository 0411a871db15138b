"""`analysis/lists/export.py`: files hold what the pages of the list show."""

from __future__ import annotations

import csv
from dataclasses import replace

import duckdb
import pytest

from tb_debugger_plugin.analysis.lists import export
from tb_debugger_plugin.analysis.lists.export import FORMATS, write_rows
from tb_debugger_plugin.analysis.lists.filters import Filter, RowOrder
from tb_debugger_plugin.analysis.lists.selection import select
from tb_debugger_plugin.analysis.lists.tables import graph_executions_page
from tb_debugger_plugin.analysis.snapshot import Range
from tb_debugger_plugin.errors import BadQueryError
from tests.support.events import snapshot_of
from tests.support.listed import record

_NAMES = ("index", "op_name", "layer", "health", "dtype", "nan", "max", "line", "occurrence")
_HEALTH = {None: None, 1: "good", 2: "bad"}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    rows = record(folder, seed=3, rows=40)
    with snapshot_of(folder) as snapshot:
        yield rows, snapshot


def _written(snapshot, chosen, names, form, folder):
    def page(positions):
        return graph_executions_page(snapshot, positions, chosen=chosen, wanted=("line", "occurrence"))

    return write_rows(page, names, chosen.total, FORMATS[form], folder)


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_a_file_has_the_shown_columns_of_the_filtered_and_sorted_rows(program, tmp_path, monkeypatch, form):
    monkeypatch.setattr(export, "_PAGE", 7)
    rows, snapshot = program
    chosen = select(
        snapshot, "graph_executions", Filter(op_type="MatMul"), RowOrder("index", descending=True)
    )
    path = _written(snapshot, chosen, _NAMES, form, tmp_path)
    expected = []
    for row in reversed(rows):
        facts = {**row.facts, "dtype": "float32", "health": _HEALTH[row.facts["health"]]}
        if facts["op_type"] == "MatMul":
            expected.append(tuple(facts[name] for name in _NAMES))
    if form == "parquet":
        assert duckdb.sql(f"SELECT * FROM read_parquet('{path}')").columns == list(_NAMES)
        assert duckdb.sql(f"SELECT * FROM read_parquet('{path}')").fetchall() == expected
        return
    with path.open(newline="") as file:
        head, *lines = csv.reader(file, delimiter="," if form == "csv" else "\t")
    assert head == list(_NAMES)
    assert lines == [["" if value is None else _text(value) for value in line] for line in expected]


def _text(value):
    return repr(float(value)) if isinstance(value, float) else str(value)


def test_a_file_of_no_rows_has_heads(program, tmp_path):
    _, snapshot = program
    chosen = select(snapshot, "graph_executions", Filter(op_name="nothing"))
    path = _written(snapshot, chosen, ["index", "op_name"], "csv", tmp_path)
    assert path.read_text() == "index,op_name\n"


def test_without_names_all_columns_are_written_and_what_later_rows_lack_is_empty(
    program, tmp_path, monkeypatch
):
    monkeypatch.setattr(export, "_PAGE", 7)
    rows, snapshot = program
    whole = graph_executions_page(snapshot, Range(0, 1))

    def page(positions):
        found = graph_executions_page(snapshot, positions)
        less = {name: values for name, values in found.columns.items() if name != "max"}
        return found if not positions.begin else replace(found, columns=less)

    path = write_rows(page, [], len(rows), FORMATS["csv"], tmp_path)
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0]) == list(whole.columns)
    assert [line["max"] for line in lines] == [
        "" if number >= 7 or row.facts["max"] is None else _text(row.facts["max"])
        for number, row in enumerate(rows)
    ]


def test_an_unknown_column_is_refused(program, tmp_path):
    _, snapshot = program
    chosen = select(snapshot, "graph_executions", Filter())
    with pytest.raises(BadQueryError, match="There is no column 'nobody' here: choose from index"):
        _written(snapshot, chosen, ["nobody"], "csv", tmp_path)
