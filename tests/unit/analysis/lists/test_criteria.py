"""`analysis/lists/criteria.py`: the registry, the class of filters and the routes agree."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from tb_debugger_plugin.analysis.inventory import KINDS
from tb_debugger_plugin.analysis.lists.criteria import COMPUTED, CRITERIA, Kind
from tb_debugger_plugin.analysis.lists.filters import HEALTH, NUMBERS, Filter
from tb_debugger_plugin.analysis.lists.orders import ORDERS
from tb_debugger_plugin.analysis.lists.selection import select
from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.events.modes import MEASURED
from tb_debugger_plugin.server.query import Query
from tests.support.checkout import ROOT
from tests.support.events import snapshot_of
from tests.support.listed import record

#: A value of each kind that any list can be filtered by.
_VALUES = {
    **dict.fromkeys((Kind.REGEX, Kind.FILE), "x"),
    Kind.NUMBER: "1.5",
    Kind.POSITION: "0",
    Kind.RANGE: "0..1",
    Kind.COMPARISONS: "nan>0",
}
_NAMES = {"dtype": "float32", "host": "worker0", "health": "bad"}


def test_each_filter_is_in_the_registry_and_has_a_word_of_its_own():
    # `sites` has no name that a reader could write.
    assert {one.name for one in CRITERIA} == {one.name for one in fields(Filter)} - {"sites"}
    words = [one.word for one in CRITERIA if one.word]
    assert len(words) == len(set(words))
    assert next(one for one in CRITERIA if one.name == "health").choices == HEALTH
    assert {one.things for one in CRITERIA if one.things} <= set(KINDS)


@pytest.mark.parametrize("one", CRITERIA, ids=lambda one: one.name)
def test_a_query_with_any_filter_chooses_rows_or_says_which_list_has_it(tmp_path, one):
    record(tmp_path, seed=1, rows=8)
    value = _NAMES.get(one.name) or _VALUES[one.kind]
    parameters = {one.name: value, **({"source": "0"} if one.name == "line" else {})}
    row_filter = Query(parameters).filter()
    assert not row_filter.is_empty
    with snapshot_of(tmp_path) as snapshot:
        assert select(snapshot, "graph_executions", row_filter).matching <= snapshot.num_graph_executions
        if one.executions:
            assert select(snapshot, "executions", row_filter).matching <= snapshot.num_executions
        else:
            with pytest.raises(BadQueryError, match=f"{one.name} filters graph executions only"):
                select(snapshot, "executions", row_filter)


def test_the_numbers_that_the_page_compares_are_those_of_the_routes():
    assert sorted(NUMBERS) == sorted((*MEASURED, *COMPUTED))


def test_the_documents_name_each_column_that_sorts():
    page = (ROOT / "docs" / "http-api.md").read_text("utf-8")
    section = page.split("These parameters sort the rows")[1].split("\n## ")[0]
    named = {*re.findall(r"`(\w+)`", section), *NUMBERS}
    for columns in ORDERS.values():
        assert sorted(set(columns) - named) == []
