"""`analysis/alerts/groups.py`: alerts by what they have in common, through the route."""

from __future__ import annotations

import math
from collections import defaultdict

import pytest

from tb_debugger_plugin.analysis.alerts.groups import GROUPINGS
from tests.support.asking import Asker
from tests.support.numerics import training

#: What Tanh took is not on record, and Tanh makes no NaN: the variable that was read before held it, or an
#: infinity, of which the unmeasured MatMul made ∞ for Relu and NaN for Tanh.
_READ = "Swallowed: NaN or ∞. ReadVariableOp in step, train.py:2"
_CAUSES = {
    **{"Relu": "Swallowed: ∞. Relu in step, train.py:2", "Mul": "no NaN or ∞"},
    **{"Tanh": _READ, "gradient_tape/out": _READ},
}
_SHARED = {
    "cause": lambda one: _CAUSES[one["op_name"]],
    "rule": lambda one: one["alert_type"],
    "layer": lambda one: one["layer"] or "no layer",
    "variable": lambda one: one["variable"] or " and ".join(one["gradient_of"]) or "no variable",
    "line": lambda one: f"{one['source']['path']}:{one['source']['line']}",
    "op": lambda one: one["op_type"],
    "function": lambda one: "step" if one["op_name"] else "outside of functions",
    "process": lambda one: one["process"],
}


@pytest.fixture(scope="module")
def asker(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("logs")
    bad = {"Relu": [math.inf], "Tanh": [math.nan, 0.0], "gradient_tape/out": [math.nan], "Mul": [1e12]}
    training(logdir / "train", [{"Relu": [1.0]}, bad, bad]).close()
    with Asker(logdir) as asker:
        yield asker


@pytest.mark.parametrize("by", GROUPINGS)
def test_each_alert_is_in_the_group_of_what_it_has(asker, by):
    alerts = asker.get("/alerts/found", run="train", rules="all").json["alerts"]
    expected = defaultdict(list)
    for alert in alerts:
        expected[_SHARED[by](alert)].append(alert)
    answer = asker.get("/alerts/groups", run="train", rules="all", by=by).json
    assert len(alerts) > 3 and [group["group"] for group in answer["groups"]] == list(expected)
    for group in answer["groups"]:
        members = expected[group["group"]]
        assert group["first"] == members[0]
        assert (group["severity"], group["num_alerts"]) == (members[0]["severity"], len(members))
        assert group["count"] == sum(alert["count"] for alert in members)
        assert group["num_tensors"] == sum(alert["num_tensors"] for alert in members)
        assert group["alert_types"] == sorted({alert["alert_type"] for alert in members})
    assert answer["num_groups"] == len(expected)
    for total in ("num_alerts", "num_tensors", "count"):
        assert answer[total] == sum(group[total] for group in answer["groups"])


def test_a_range_of_the_groups_has_the_totals_of_all(asker):
    whole = asker.get("/alerts/groups", run="train", rules="all", by="op").json
    part = asker.get("/alerts/groups", run="train", rules="all", by="op", begin=1, end=2).json
    assert part == {**whole, "begin": 1, "end": 2, "groups": whole["groups"][1:2]}


def test_what_nobody_groups_by_is_refused(asker):
    assert asker.get("/alerts/groups", run="train", by="colour").status_code == 400
    assert asker.get("/alerts/groups", run="train").status_code == 400
