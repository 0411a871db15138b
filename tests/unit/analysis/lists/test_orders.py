"""`analysis/lists/orders.py`: sorted lists, beside rows that are sorted one by one."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_debugger_plugin.analysis.lists import orders, selection, tables
from tb_debugger_plugin.analysis.lists.filters import Filter, RowOrder
from tb_debugger_plugin.analysis.lists.orders import ORDERS, stable_order, whole_order
from tb_debugger_plugin.analysis.lists.selection import select
from tb_debugger_plugin.analysis.snapshot import Range, Snapshot
from tests.support.events import snapshot_of
from tests.support.listed import Listed, record


@pytest.fixture(scope="module")
def rows_and_folder(tmp_path_factory) -> tuple[list[Listed], object]:
    folder = tmp_path_factory.mktemp("run")
    return record(folder, seed=5, rows=120), folder


@pytest.fixture(scope="module")
def rows(rows_and_folder) -> list[Listed]:
    return rows_and_folder[0]


@pytest.fixture(scope="module")
def snapshot(rows_and_folder) -> Iterator[Snapshot]:
    with snapshot_of(rows_and_folder[1]) as snapshot:
        yield snapshot


#: Facts of a row that a column sorts by, where it is not the fact with its name.
_KEYS = {
    "tensor_name": lambda facts: (facts["op_name"], facts["slot"]),
    "bytes": lambda facts: 4 * (3 if facts["size"] is None else facts["size"]),
    "variance": lambda facts: facts["std"],
    "rank": lambda facts: None if facts["size"] is None else 1,
    "dtype": lambda facts: "float32",
    "shape": lambda facts: (3,),
}


def _sorted(rows: list[Listed], column: str, *, descending: bool) -> list[int]:
    key_of = _KEYS.get(column, lambda facts: facts[column])
    known = [row for row in rows if key_of(row.facts) is not None]
    others = [row.index for row in rows if key_of(row.facts) is None]
    # `sorted` keeps equal rows in order, also when it is reversed.
    return [
        row.index for row in sorted(known, key=lambda row: key_of(row.facts), reverse=descending)
    ] + others


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("column", sorted(ORDERS["graph_executions"]))
@pytest.mark.parametrize("first", [7, 10_000])
def test_every_column_sorts_as_python_does(snapshot, rows, monkeypatch, column, descending, first):
    monkeypatch.setattr(selection, "FIRST_SORTED", first)
    monkeypatch.setattr(orders, "_BATCH", 50)
    snapshot.loader.memory.clear()
    if column in ("mean", "variance", "std", "norm"):
        # Sums of floats differ in their last digits.
        rows = [row for row in rows if row.values is None or len(row.values) < 2]
        expected = _sorted(rows, column, descending=descending)
        kept = {row.index for row in rows}
    else:
        expected, kept = _sorted(rows, column, descending=descending), {row.index for row in rows}
    order = RowOrder(column, descending)
    chosen = select(snapshot, "graph_executions", Filter(), order)
    assert chosen.total == chosen.matching == snapshot.num_graph_executions
    pages = [
        chosen.rows(snapshot, "t.idx", Range(begin, min(begin + 11, chosen.total)))["idx"].tolist()
        for begin in range(0, chosen.total, 11)
    ]
    assert [index for page in pages for index in page if index in kept] == expected


@pytest.mark.parametrize("column", sorted(ORDERS["executions"]))
def test_the_whole_order_of_executions_begins_with_their_first_rows(snapshot, column):
    for descending in (False, True):
        order = RowOrder(column, descending)
        chosen = select(snapshot, "executions", Filter(op_type="train|eval"), order)
        whole = whole_order(snapshot, "executions", chosen.condition, order)
        assert chosen.order.tolist() == whole.tolist()
        assert sorted(whole.tolist()) == list(range(snapshot.num_executions))


def test_a_row_is_found_in_a_sorted_list(snapshot, rows, monkeypatch):
    monkeypatch.setattr(selection, "FIRST_SORTED", 5)
    snapshot.loader.memory.clear()
    chosen = select(snapshot, "graph_executions", Filter(op_type="Log"), RowOrder("max", descending=True))
    expected = _sorted([row for row in rows if "Log" in row.facts["op_name"]], "max", descending=True)
    for row in rows:
        place = chosen.before(snapshot, row.index)
        assert place == (expected.index(row.index) if row.index in expected else None)


def test_pages_have_the_line_thread_occurrence_and_computed_numbers(snapshot, rows, monkeypatch):
    wanted = tuple(tables.MORE["graph_executions"])
    monkeypatch.setattr(tables, "STRETCH", 16)
    snapshot.loader.memory.clear()
    for chosen in (
        None,
        select(snapshot, "graph_executions", Filter(health="bad"), RowOrder("max")),
    ):
        total = snapshot.num_graph_executions if chosen is None else chosen.total
        page = tables.graph_executions_page(snapshot, Range(3, total), chosen=chosen, wanted=wanted)
        for at, index in enumerate(page.columns["index"].astype(int).tolist()):
            facts = rows[index].facts
            for name in ("line", "thread"):
                code = page.columns[name][at]
                assert page.dictionaries[name][code] == facts[name]
            assert page.columns["occurrence"][at] == facts["occurrence"]
            for name in ("std", "norm"):
                expected = math.nan if facts[name] is None else facts[name]
                assert page.columns[name][at] == pytest.approx(expected, rel=1e-6, abs=1e-6, nan_ok=True)


@given(
    st.lists(st.floats() | st.sampled_from([0.0, -0.0, 1e300, 1e300 + 1e285, 1.7e9, 1.7e9 + 1e-3, math.nan]))
)
def test_numbers_are_sorted_as_numpy_sorts_them(numbers):
    values = np.array(numbers, np.float64)
    assert stable_order(values).tolist() == np.argsort(values, kind="stable").tolist()
