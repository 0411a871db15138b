"""`analysis/lists/groups.py`: groups of rows, beside rows that are counted one by one."""

from __future__ import annotations

from collections import defaultdict

import pytest

from tb_debugger_plugin.analysis.lists.criteria import CRITERIA
from tb_debugger_plugin.analysis.lists.filters import Filter, parse_comparisons
from tb_debugger_plugin.analysis.lists.groups import GROUPED, row_groups
from tb_debugger_plugin.analysis.lists.selection import select
from tests.support.events import snapshot_of
from tests.support.listed import record

_WORDS = {None: "unmeasured", 1: "good", 2: "bad"}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    rows = record(folder, seed=8, rows=80)
    with snapshot_of(folder) as snapshot:
        yield rows, snapshot


@pytest.mark.parametrize("by", ["op_type", "layer", "line", "function", "host", "device"])
@pytest.mark.parametrize(
    ("row_filter", "holds"),
    [
        (Filter(), lambda facts: True),
        (Filter(where=parse_comparisons("nan>0")), lambda facts: (facts["nan"] or 0) > 0),
        (Filter(health="unmeasured"), lambda facts: facts["health"] is None),
    ],
    ids=["all", "nan", "unmeasured"],
)
def test_graph_executions_are_counted_by_each_column(program, by, row_filter, holds):
    rows, snapshot = program
    members = defaultdict(list)
    for row in rows:
        if holds(row.facts):
            members[row.facts[by]].append(row)
    expected = [
        {
            "value": value,
            "count": len(group),
            "bad": sum(row.facts["health"] == 2 for row in group),
            "health": _WORDS[max(row.facts["health"] or 0 for row in group) or None],
            "first": group[0].index,
        }
        for value, group in members.items()
    ]
    expected.sort(key=lambda group: (-group["bad"], -group["count"], group["first"]))
    answer = row_groups(snapshot, "graph_executions", row_filter, by, 99)
    assert answer == {"by": by, "num_groups": len(expected), "groups": expected}


def test_an_execution_is_bad_when_something_bad_ran_in_it(program):
    rows, snapshot = program
    bad = {(row.host, row.call) for row in rows if row.facts["health"] == 2}
    answer = row_groups(snapshot, "executions", Filter(), "host", 99)
    assert {group["value"]: group["bad"] for group in answer["groups"]} == {
        host: sum(one == host for one, _ in bad) for host in ("worker0", "worker1")
    }


@pytest.mark.parametrize(
    ("table", "by"), [(table, by) for table, columns in GROUPED.items() for by in columns]
)
def test_a_group_opens_to_the_list_that_its_filter_leaves(program, table, by):
    _, snapshot = program
    criterion = next((one for one in CRITERIA if one.group == by), None)
    answer = row_groups(snapshot, table, Filter(), by, 99)
    assert answer["num_groups"] == len(answer["groups"])
    for group in answer["groups"]:
        if criterion is None or group["value"] is None:
            continue
        value = f"^{group['value']}$" if criterion.kind.value == "regular expression" else group["value"]
        assert select(snapshot, table, Filter(**{criterion.name: value})).matching == group["count"]


def test_groups_after_the_limit_are_left_out_and_counted(program):
    _, snapshot = program
    whole = row_groups(snapshot, "graph_executions", Filter(), "op_type", 99)
    assert row_groups(snapshot, "graph_executions", Filter(), "op_type", 2) == {
        **whole,
        "groups": whole["groups"][:2],
    }
    assert whole["num_groups"] == 3
