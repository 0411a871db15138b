"""`frontend/src/views/rules.tsx`: thresholds that the reader moves, counts that follow, and what is meant."""

from __future__ import annotations

import math

import pytest
from playwright.sync_api import expect

from tb_debugger_plugin.analysis.alerts.allow import FILE_NAME, read_allowed
from tests.support.debugger_page import open_page
from tests.support.numerics import training
from tests.support.serving import tensorboard

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A TensorBoard on a run whose gradient is 1, 2, … 8, then a NaN; and the folder of the run."""
    logdir = tmp_path_factory.mktemp("logs")
    steps = [{"gradient_tape/MatMul": [[float(n), 0.5]], "Relu": [1.0, 0.0]} for n in range(1, 9)]
    steps.append({"Tanh": [math.nan]})
    training(logdir / "train", steps).close()
    with tensorboard(logdir, logdir / "tensorboard.txt") as address:
        yield address, logdir / "train"


@pytest.fixture
def page(browser, served):
    """The page with the rules open."""
    with open_page(browser, served[0]) as page:
        page.frame.get_by_text("Rules and thresholds").click()
        expect(page.part("rule-LargeGradientAlert")).to_be_visible()
        yield page


def test_the_count_follows_a_slider(page):
    count = page.part("count-LargeGradientAlert")
    page.part("rule-LargeGradientAlert").get_by_role("button").click()
    expect(count).to_have_attribute("title", "0 tensors, 0 values")
    page.part("number-LargeGradientAlert.limit").fill("5")
    page.part("number-LargeGradientAlert.limit").press("Enter")
    expect(count).to_have_attribute("title", "1 tensor, 3 values")
    slider = page.part("slider-LargeGradientAlert.limit")
    before = int(slider.input_value())
    for _ in range(30):
        slider.press("ArrowLeft")
    assert int(slider.input_value()) == before - 30
    expect(count).to_have_attribute("title", "1 tensor, 8 values")


def test_a_rule_that_the_run_cannot_answer_says_what_is_missing(page):
    rule = page.part("rule-SaturatedTanhAlert")
    expect(rule).to_contain_text("no answer")
    expect(rule).to_contain_text("No inputs of tanh are on record.")
    expect(rule.get_by_role("button")).to_be_disabled()


def _break(page, number, limit):
    """Move a threshold so that one tensor breaks its rule; returns where that is listed."""
    rule = number.partition(".")[0]
    page.part(f"number-{number}").fill(limit)
    page.part(f"number-{number}").press("Enter")
    expect(page.part(f"count-{rule}")).to_have_text("1")
    page.part(f"rule-{rule}").get_by_role("button").first.click()
    return page.part("findings").get_by_role("listitem")


def test_a_tensor_that_breaks_a_rule_is_explained_and_leads_to_its_value(page):
    finding = _break(page, "LargeGradientAlert.limit", "7.5")
    expect(finding).to_contain_text("magnitude 8")
    why = finding.get_by_role("button", name="Why")
    why.click()
    expect(page.part("finding-why")).to_contain_text("reached 8")
    expect(page.part("finding-why").locator(".help")).to_contain_text("clip")
    assert page.serious_violations() == []
    why.click()
    expect(page.part("finding-why")).to_have_count(0)
    finding.get_by_role("button").first.click()
    expect(page.part("graph-structure-op")).to_contain_text("gradient_tape/MatMul")


def test_what_is_called_meant_is_kept_beside_the_run(page, served):
    finding = _break(page, "DeadReluAlert.active", "0.9")
    finding.get_by_role("button", name="Meant so").click()
    finding.get_by_role("textbox").fill("It is sparse.")
    finding.get_by_role("button", name="Keep").click()
    expect(finding).to_contain_text("meant: It is sparse.")
    expect(page.part("count-DeadReluAlert")).to_have_text("0")
    (entry,) = read_allowed(served[1] / FILE_NAME)
    assert (entry.rule, entry.op_name, entry.reason) == ("DeadReluAlert", "Relu", "It is sparse.")


def test_alerts_are_grouped_by_what_the_reader_chooses(page):
    expect(page.part("group-totals")).to_have_text("1 tensor, 1 computation")
    page.part("alert-groups").locator("summary").click()
    groups = page.part("alert-groups").get_by_role("listitem")
    expect(groups).to_have_count(1)
    expect(groups).to_contain_text("in step, train.py:2")
    expect(groups).to_contain_text("· NaN or ∞ · 1 computation · first Tanh:0")
    page.part("group-by").select_option(label="layer")
    expect(groups).to_contain_text("out")
    page.part("group-by").select_option(label="op type")
    expect(groups).to_contain_text("Tanh")
    assert page.serious_violations() == []
    groups.get_by_role("button").click()
    expect(page.part("graph-structure-op")).to_contain_text("Tanh")


def test_the_open_rules_have_no_serious_problem_of_access(page):
    assert page.serious_violations() == []
    assert page.frame.evaluate("document.documentElement.scrollWidth") <= 1600
