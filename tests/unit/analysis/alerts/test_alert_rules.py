"""`analysis/alerts/alert_rules.py`: each rule's alerts, counts and explanations, through the routes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_debugger_plugin.analysis.alerts.alert_rules import EXPLODING, LISTED, NAN_OR_INFINITY
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.reading.run import open_run
from tests.support.asking import Asker
from tests.support.events import Recording, small_program
from tests.support.numerics import numerics, training

_RUN = {"run": "."}


def exploding_program(folder: Path) -> Recording:
    """A weight grows, then overflows."""
    recording = small_program(folder, steps=0, mode=TensorDebugMode.FULL_NUMERICS)
    recording.trace("g1", "x", numerics([1.0, -2e9]))
    recording.trace("g1", "Log", numerics([1.0, -2e10]))
    recording.trace("g1", "mul", numerics([5e12, 0.0]))
    recording.execution("Square", [numerics([3e20])], ids=[1], stack=["f1"])
    recording.trace("g1", "Mean", numerics([math.inf, 1e30]))
    return recording


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Asker]:
    exploding_program(tmp_path).close()
    with Asker(tmp_path) as asker:
        yield asker


def test_alerts_of_all_rules_are_one_list_in_the_order_of_time(page: Asker) -> None:
    answer = page.json("/alerts", {**_RUN, "end": -1})
    listed = [(alert["alert_type"], alert["op_type"], alert["measured"]) for alert in answer["alerts"]]
    assert listed == [
        ("ExplodingAlert", "Log", "magnitude 2e+10"),
        ("ExplodingAlert", "Mul", "magnitude 5e+12"),
        ("ExplodingAlert", "Square", "magnitude 3e+20"),
        ("InfNanAlert", "Mean", "1 +∞"),
    ]
    assert answer["alerts_breakdown"] == {"InfNanAlert": 1, "ExplodingAlert": 3}
    assert [rule["alert_type"] for rule in answer["rules"]] == [rule.id for rule in LISTED]


def test_the_first_cause_is_among_the_most_severe_alerts(page: Asker) -> None:
    assert page.json("/alerts", _RUN)["first_cause"] == 3
    diagnosis = page.json("/diagnosis", _RUN)["diagnosis"]
    assert (diagnosis["index"], diagnosis["headline"]) == (3, "Mean in loss, train.py:3")


@pytest.mark.parametrize("rule, count, first", [(NAN_OR_INFINITY, 1, 0), (EXPLODING, 3, None)])
def test_the_list_can_be_narrowed_to_one_rule(page: Asker, rule, count, first) -> None:
    answer = page.json("/alerts", {**_RUN, "end": -1, "alert_type": rule.id})
    assert (answer["num_alerts"], len(answer["alerts"]), answer["first_cause"]) == (count, count, first)
    assert {alert["alert_type"] for alert in answer["alerts"]} == {rule.id}
    assert answer["alerts_breakdown"] == {"InfNanAlert": 1, "ExplodingAlert": 3}


@pytest.mark.parametrize(
    "position, what, why",
    [
        (
            0,
            "Log (tensor Log:0 in function loss) reached 2e+10, beyond 1e+10.",
            "The largest magnitude among its inputs is 2e+09.",
        ),
        (
            1,
            "Mul (tensor mul:0 in function loss) reached 5e+12, beyond 1e+10.",
            "Its input Log:0 already reached 2e+10.",
        ),
        (2, "Square (run eagerly) reached 3e+20, beyond 1e+10.", "Its inputs were not measured."),
    ],
)
def test_an_exploding_value_is_explained_by_its_inputs(page: Asker, position, what, why) -> None:
    diagnosis = page.json("/diagnosis", {**_RUN, "alert": position})["diagnosis"]
    assert ["".join(phrase["text"] for phrase in diagnosis[name]) for name in ("what", "why")] == [what, why]
    assert "learning rate" in diagnosis["help"]
    assert diagnosis["alert"]["alert_type"] == "ExplodingAlert"


def test_an_op_and_an_execution_are_explained_by_the_rule_of_their_alert(page: Asker) -> None:
    op = page.json("/diagnosis", {**_RUN, "graph_id": "g1", "op_name": "mul"})["diagnosis"]
    assert op == {**page.json("/diagnosis", {**_RUN, "alert": 1})["diagnosis"], "index": None, "alert": None}
    execution = page.json("/diagnosis", {**_RUN, "execution": 0})["diagnosis"]
    assert "reached 3e+20" in "".join(phrase["text"] for phrase in execution["what"])


def test_a_run_with_exploding_values_only_begins_with_the_first_one(tmp_path: Path) -> None:
    recording = small_program(tmp_path, steps=0, mode=TensorDebugMode.FULL_NUMERICS)
    recording.trace("g1", "x", numerics([2.0]))
    recording.trace("g1", "Log", numerics([1e11]))
    recording.trace("g1", "mul", numerics([1e12]))
    with Asker(recording.close()) as page:
        answer = page.json("/alerts", _RUN)
        assert (answer["first_cause"], answer["alerts_breakdown"]) == (0, {"ExplodingAlert": 2})
        assert page.json("/diagnosis", _RUN)["diagnosis"]["headline"] == "Log in loss, train.py:3"


def test_a_tensor_that_is_recorded_later_has_its_role(tmp_path):
    recording = training(tmp_path, [{"gradient_tape/MatMul": [11.0]}])
    with open_run(tmp_path) as run:
        assert len(run.alerts(rule="LargeGradientAlert", limit=10)) == 1
        recording.trace("g1", "gradient_tape/out", numerics([12.0]))
        assert run._loader.catch_up(60.0)
        names = [alert.op_name for alert in run.alerts(rule="LargeGradientAlert", limit=10)]
    recording.close()
    assert names == ["gradient_tape/MatMul", "gradient_tape/out"]
