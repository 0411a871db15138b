"""`cli/alerts.py`: rules on the command line, exit codes, and the file for CI."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tb_debugger_plugin.analysis.alerts.rule import Severity
from tb_debugger_plugin.cli import junit
from tb_debugger_plugin.cli.main import main
from tb_debugger_plugin.cli.reading import Failure
from tests.support.events import small_program
from tests.support.numerics import training

_BAD, _GOOD = "bad", "good"


@pytest.fixture
def logdir(tmp_path: Path) -> str:
    """A run with NaN, and one that trains well."""
    small_program(tmp_path / _BAD).close()
    kernel = np.array([[1.0, -2.0], [3.0, 0.5]])
    steps = [{"read": kernel * n, "gradient_tape/MatMul": kernel, "Mul": kernel * 0.01} for n in (1, 2, 3)]
    training(tmp_path / _GOOD, steps).close()
    return str(tmp_path)


def test_alerts_are_printed_the_most_urgent_first_with_tensor_and_line(logdir, tbdbg):
    assert tbdbg("alerts", logdir, "--run", _BAD) == (
        "bad\n"
        "  critical  NaN/∞: 1 −∞ in Log:0, train.py:3, 2 times\n"
        "  high      NaN/∞: 1 NaN in mul:0 (Mul), train.py:3, 2 times\n"
        "  medium    NaN/∞: 1 NaN in Mean:0, train.py:3, 2 times\n"
        "  medium    NaN/∞: 1 NaN in loss, train.py:3, 2 times\n"
        "  Exploding: Needs FULL_NUMERICS: this run was recorded in FULL_HEALTH.\n"
        "  Near overflow: Needs FULL_NUMERICS: this run was recorded in FULL_HEALTH.\n"
        "  Underflow: Needs FULL_NUMERICS: this run was recorded in FULL_HEALTH.\n"
    )


@pytest.mark.parametrize(
    "run, options, code",
    [
        (_BAD, [], 0),
        (_BAD, ["--fail-on", "critical"], 3),
        (_BAD, ["--fail-on", "low", "--rule", "ExplodingAlert"], 0),
        (_GOOD, ["--fail-on", "low"], 0),
        (_GOOD, ["--fail-on", "medium", "--rule", "LargeGradientAlert:limit=2"], 3),
        (_GOOD, ["--fail-on", "high", "--rule", "LargeGradientAlert:limit=2"], 0),
        (_GOOD, ["--fail-on", "low", "--rule", "GrowingAlert:factor=2,steps=1,above=0"], 3),
        (_GOOD, ["--rule", "LargeGradientAlert:size=2"], 1),
        (_GOOD, ["--rule", "NoAlert"], 1),
    ],
)
def test_the_exit_code_tells_whether_alerts_are_accepted(logdir, run, options, code):
    assert main(["alerts", logdir, "--run", run, *options]) == code


def test_an_unknown_severity_is_a_wrong_command_line(logdir):
    with pytest.raises(SystemExit) as error:
        main(["alerts", logdir, "--fail-on", "grave"])
    assert error.value.code == 2


def test_json_has_rules_with_thresholds_and_alerts_with_lines(logdir, tbdbg):
    answer = tbdbg.json("alerts", logdir, "--rule", "InfNanAlert", "--rule", "LargeGradientAlert:limit=2")
    alert = answer[_BAD]["alerts"][0]
    assert (alert["severity"], alert["count"], alert["source"]) == (
        "critical",
        2,
        {"path": "/home/me/train.py", "line": 3, "function": "loss", "text": "return tf.math.log(x)"},
    )
    (_, gradients) = answer[_GOOD]["rules"]
    assert (gradients["num_tensors"], gradients["num_values"], gradients["missing"]) == (1, 3, None)
    assert [(one["name"], one["value"], one["default"]) for one in gradients["parameters"]] == [
        ("limit", 2.0, 1000.0)
    ]


def test_a_junit_file_has_a_case_for_each_rule_and_fails_those_that_are_broken(logdir, tmp_path):
    path = tmp_path / "alerts.xml"
    assert main(["alerts", logdir, "--rule", "all", "--fail-on", "high", "--junit", str(path)]) == 3
    suites = {suite.get("name"): suite for suite in ElementTree.parse(path).getroot()}
    assert (suites[_BAD].get("failures"), suites[_GOOD].get("failures")) == ("1", "0")
    (failure,) = suites[_BAD].iter("failure")
    assert failure.get("message") == "critical: 1 −∞ in Log:0, train.py:3"
    assert "high: 1 NaN in mul:0 (Mul), train.py:3" in (failure.text or "")
    skipped = {case.get("name") for case in suites[_BAD] if case.find("skipped") is not None}
    assert "GrowingAlert" in skipped and "InfNanAlert" not in skipped


def test_a_run_that_cannot_be_read_is_an_error_in_the_file(tmp_path):
    path = tmp_path / "alerts.xml"
    junit.write(str(path), {"a\0run": Failure("The file is damaged.")}, Severity.CRITICAL)
    (suite,) = ElementTree.parse(path).getroot()
    assert (suite.get("name"), suite.get("errors")) == ("a�run", "1")
    assert [error.get("message") for error in suite.iter("error")] == ["The file is damaged."]


def test_a_file_that_cannot_be_written_is_an_error_with_a_sentence(logdir, tmp_path, tbdbg):
    assert "No such file" in tbdbg.error("alerts", logdir, "--junit", tmp_path / "no" / "alerts.xml")


def test_a_limit_holds_in_text_and_json_and_not_for_the_exit_code(logdir, tbdbg):
    assert tbdbg("alerts", logdir, "--run", _BAD, "--limit", "1", "--fail-on", "medium", code=3).splitlines()[
        :3
    ] == [
        "bad",
        "  critical  NaN/∞: 1 −∞ in Log:0, train.py:3, 2 times",
        "  3 more; --limit N prints more, --json all.",
    ]
    answer = json.loads(
        tbdbg("alerts", logdir, "--run", _BAD, "--limit", "0", "--fail-on", "medium", "--json", code=3)
    )[_BAD]
    assert (answer["alerts"], answer["num_alerts"]) == ([], 4)


@pytest.mark.parametrize(
    "key, groups",
    [
        ("cause", [("Origin of ∞: Log in loss, train.py:3", "critical", 4, 8)]),
        ("rule", [("InfNanAlert", "critical", 4, 8)]),
        ("line", [("/home/me/train.py:3", "critical", 4, 8)]),
        ("layer", [("no layer", "critical", 4, 8)]),
        (
            "op",
            [
                *(("Log", "critical", 1, 2), ("Mul", "high", 1, 2), ("Mean", "medium", 1, 2)),
                ("__inference_loss_7", "medium", 1, 2),
            ],
        ),
    ],
)
def test_alerts_are_counted_by_what_they_have_in_common(logdir, tbdbg, key, groups):
    grouped = ["alerts", logdir, "--run", _BAD, "--group-by", key]
    answer = tbdbg.json(*grouped)[_BAD]
    found = [(one["group"], one["severity"], one["num_alerts"], one["count"]) for one in answer["groups"]]
    assert (found, answer["num_groups"], answer["num_alerts"]) == (groups, len(groups), 4)
    assert answer["groups"][0]["first"]["op_type"] == "Log" and "alerts" not in answer
    assert f"  critical  {groups[0][0]}: {groups[0][2]} alert" in tbdbg(
        "alerts", logdir, "--run", _BAD, "--group-by", key
    )


@pytest.mark.parametrize("count", ["-1", "all"])
def test_a_limit_must_be_a_number(logdir, count):
    with pytest.raises(SystemExit) as error:
        main(["alerts", logdir, f"--limit={count}"])
    assert error.value.code == 2


def test_an_alert_names_its_process_where_there_are_several(tmp_path, tbdbg):
    for number in (1, 2):
        small_program(tmp_path, host=f"worker{number}").close()
    first, second = tbdbg("alerts", tmp_path, "--limit", "2").splitlines()[1:3]
    assert " of worker1, " in first and " of worker2, " in second
