"""`frontend/src/views/comparison`: where two runs part, on the page, checked against their arrays."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.support.asking import Asker
from tests.support.compared import STEPS, computed, write_pair, write_run
from tests.support.debugger_page import open_page, quiet_page
from tests.support.serving import tensorboard

pytestmark = pytest.mark.browser

LINK = "#debugger&p.debugger.run=base"
COMPARED = f"{LINK}&p.debugger.other=changed"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The folder of the runs, and what `base` and `changed` computed; `repeated` is equal to `base`."""
    logdir = tmp_path_factory.mktemp("comparison")
    base, changed = write_pair(logdir)
    write_run(logdir / "repeated", "relu", computed("relu"))
    scope = "sequential_1/encoder_block_with_a_very_long_name_0/normalization_1/"
    write_run(logdir / "long", "relu", base, scope=scope)
    write_run(logdir / "long_changed", "elu", changed, scope=scope)
    return logdir, base, changed


@pytest.fixture(scope="module")
def address(runs):
    """A TensorBoard on them."""
    with tensorboard(runs[0], runs[0] / "tensorboard.txt") as address:
        yield address


@pytest.fixture(scope="module")
def page(browser, address):
    """The page on the first run, compared with the second one by the control."""
    with quiet_page(browser, f"{address}{LINK}") as page:
        page.compare_with("changed")
        expect(page.part("comparison-verdict")).to_be_visible()
        page.frame.wait_for_load_state()
        yield page


def first_apart(base, changed):
    """The first step and tensor that differ by more than rounding, found by looking at every array."""
    for number, (one, other) in enumerate(zip(base, changed, strict=True)):
        for name in ("x", "w", "product", "h", "loss"):
            if not np.allclose(getattr(one, name), getattr(other, name), rtol=1e-5, atol=0):
                return number, name, getattr(one, name), getattr(other, name)
    return None


def rows_of(page):
    """The table of both runs as texts by label."""
    rows = page.part("difference-sides").locator("tbody tr").all()
    cells = [[cell.inner_text() for cell in row.locator("th, td").all()] for row in rows]
    return {re.sub(r"[ \n]*≠.*", "", label, flags=re.DOTALL): both for label, *both in cells}


def number(text):
    return float(text.replace("−", "-").replace(",", ""))


def test_the_first_difference_is_that_of_the_arrays(page, runs):
    step, name, one, other = first_apart(*runs[1:])
    assert (step, name) == (0, "h")
    expect(page.part("comparison-verdict")).to_contain_text("First difference: Relu in step, train.py:6")
    expect(page.part("difference-cause")).to_have_text("another op")
    expect(page.part("difference-measures")).to_contain_text("layer dense · in step · graph execution #3")
    expect(page.part("difference-measures")).to_contain_text("0 %: its inputs explain nothing of it")
    expect(page.part("difference-inputs")).to_contain_text("MatMul:0")
    expect(page.part("difference-inputs")).to_contain_text("equal")
    table = rows_of(page)
    assert table["op"] == ["Relu", "Elu"]
    for label, measure in (("min", np.min), ("max", np.max), ("mean", np.mean), ("variance", np.var)):
        shown = [number(text) for text in table[label]]
        assert shown == pytest.approx([float(measure(each)) for each in (one, other)], rel=1e-3), label
    assert [number(text) for text in table["zero"]] == [int((each == 0).sum()) for each in (one, other)]


def test_what_changed_and_how_much_was_compared_are_named(page):
    expect(page.part("comparison-changes")).to_contain_text("1 change in the program")
    expect(page.part("comparison-changes")).to_contain_text("Relu became Elu")
    # Five tensors of the graph, the result of the call and the eager product, in each step.
    expect(page.part("comparison-aligned")).to_have_text(
        f"base and changed · {7 * STEPS} values of 7 tensors compared"
    )


def test_the_first_difference_and_its_line_are_in_focus(page):
    expect(page.part("graph-structure-op")).to_contain_text("Relu")
    page.part("difference-line").click()
    expect(page.frame.locator(".cm-line").filter(has_text="relu")).to_be_visible()
    expect(page.part("source-path")).to_have_text("/home/me/train.py")


def test_the_curves_of_both_runs_have_one_scale(page, runs):
    lows = [min(float(step.h.mean()) for step in each) for each in runs[1:]]
    highs = [max(float(step.h.mean()) for step in each) for each in runs[1:]]
    label = page.part("two-curves").get_attribute("aria-label")
    ends = [number(end) for pair in re.findall(r": (\S+) to (\S+) at 12 points", label) for end in pair]
    assert ends == pytest.approx([lows[0], highs[0], lows[1], highs[1]], rel=1e-2)
    chart = page.part("two-curves")
    expect(chart).to_have_attribute("data-drawn", "true")
    chart.focus()
    chart.press("Home")
    for step in (0, 1):
        means = [float(each[step].h.mean()) for each in runs[1:]]
        words = page.part("two-curves-words").inner_text()
        assert words.startswith(f"occurrence {step + 1} · base ")
        shown = [number(text) for text in re.findall(r"(?:base|changed) (\S+)", words)]
        assert shown == pytest.approx(means, rel=1e-2)
        chart.press("ArrowRight")
    page.part("history-number").select_option("min")
    expect(chart).to_have_attribute("aria-label", re.compile("^min over time\\. base: 0 to 0 at"))
    page.part("history-number").select_option("mean")


def test_the_slider_goes_through_the_occurrences(page, runs):
    slider = page.part("comparison-time")
    slider.press("End")
    expect(page.part("value-occurrence")).to_have_text(f"{STEPS} of {STEPS}")
    expect(page.part("graph-structure-op")).to_contain_text("Relu")
    expected = [float(each[-1].h.mean()) for each in runs[1:]]
    expect(page.part("comparison-focus")).to_have_attribute("aria-busy", "false")
    assert [number(text) for text in rows_of(page)["mean"]] == pytest.approx(expected, rel=1e-3)
    slider.press("Home")
    expect(page.part("value-occurrence")).to_have_text(f"1 of {STEPS}")


def test_a_further_difference_leads_to_its_tensor(page, runs):
    listed = page.part("comparison-tensor")
    mean = listed.filter(has_text="Mean:0")
    expect(mean).to_contain_text("100 % inherited")
    mean.click()
    expect(mean).to_have_attribute("aria-current", "true")
    expect(page.part("graph-structure-op")).to_contain_text("Mean")
    eager = listed.filter(has_text="train.py:11")
    eager.click()
    expect(eager).to_have_attribute("aria-current", "true")
    expect(page.part("comparison-focus")).to_contain_text("Mul")
    expect(page.part("comparison-focus")).to_have_attribute("aria-busy", "false")
    expected = [float(each[0].total) for each in runs[1:]]
    assert [number(text) for text in rows_of(page)["mean"]] == pytest.approx(expected, rel=1e-3)
    page.click("show-first")
    expect(page.part("graph-structure-op")).to_contain_text("Relu")


def test_a_tolerance_of_the_reader_takes_the_place_of_rounding(page):
    field = page.part("comparison-tolerance")
    for text, is_wrong in (("x", "true"), ("1e3", "false")):
        field.fill(text)
        field.press("Enter")
        expect(field).to_have_attribute("aria-invalid", is_wrong)
    expect(page.part("comparison-verdict")).to_contain_text(
        "No tensor differs materially, but the programs do: Relu became Elu."
    )
    expect(page.part("comparison-first")).to_have_count(0)
    field.fill("")
    field.press("Enter")
    expect(page.part("difference-measures")).to_contain_text("rounding of float32, times the ops")


def test_the_other_run_is_shown_at_the_same_tensor_and_back(page):
    page.part("comparison-tensor").first.click()
    expect(page.part("graph-structure-op")).to_contain_text("Relu")
    expect(page.part("comparison-focus")).to_have_attribute("aria-busy", "false")
    for run, op in (("changed", "Elu"), ("base", "Relu")):
        page.frame.get_by_role("button", name="Go to the other run").click()
        expect(page.part("run")).to_contain_text(run)
        expect(page.part("graph-structure-op")).to_contain_text(op)
        expect(page.part("comparison-verdict")).to_contain_text(f"First difference: {op} in step")
        expect(page.part("two-curves")).to_be_visible()
        expect(page.part("comparison-focus")).to_have_attribute("aria-busy", "false")


def test_equal_runs_agree_and_the_comparison_can_be_closed(browser, address):
    with quiet_page(browser, f"{address}{LINK}&p.debugger.other=repeated") as page:
        expect(page.part("comparison-verdict")).to_contain_text(
            "The runs agree: no tensor differs materially."
        )
        expect(page.part("comparison-first")).to_have_count(0)
        expect(page.part("histories-apart")).to_have_text(
            f"none of {STEPS} occurrences differs by more than the tolerance"
        )
        page.frame.get_by_role("tab", name="Comparison").press("ArrowLeft")
        expect(page.frame.get_by_role("tab", name="Gradients")).to_be_focused()
        expect(page.part("comparison")).to_have_count(0)
        page.frame.get_by_role("tab", name="Comparison").click()
        page.frame.get_by_role("button", name="Close the comparison").click()
        expect(page.part("comparison")).to_have_count(0)
        assert "p.debugger.other" not in page.page.url


def test_a_run_that_is_being_read_is_waited_for_and_a_failure_is_told(browser, address, runs):
    with Asker(runs[0]) as asker:
        status = asker.json("/status", {"run": "changed"})
    loading = {**status, "num_graph_executions": 0, "loading": {"bytes_done": 1, "bytes_total": 4}}
    with quiet_page(browser, f"{address}{COMPARED}", answers={"status?run=changed": loading}) as page:
        reading = page.page.frame_locator("iframe").get_by_test_id("comparison-reading")
        expect(reading).to_contain_text("The run changed is still being read.")
        page.page.context.unroute("**/plugin/debugger/status?run=changed")
        expect(page.part("comparison-verdict")).to_contain_text("First difference: Relu")


def test_a_run_that_is_gone_is_told_and_another_can_be_chosen(browser, address):
    with open_page(browser, f"{address}{LINK}&p.debugger.other=%3Cb%3Enone") as page:
        expect(page.part("comparison").get_by_role("alert")).to_contain_text("no run named '<b>none'")
        page.compare_with("long")
        expect(page.part("comparison-verdict")).to_be_visible()


#: The elements whose text is cut off without a sign.
CUT_OFF = """
  [...document.querySelectorAll('.comparison, .comparison *')]
    .filter((e) => e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1)
    .filter((e) => getComputedStyle(e).textOverflow !== 'ellipsis' && !e.closest('svg, .unseen'))
    .map((e) => `${e.tagName} ${e.className}: ${e.textContent}`)
"""


def check_look(page, *, axe=True):
    """The page of one size and colour scheme: nothing is cut off, all can be reached."""
    expect(page.part("two-curves")).to_be_visible()
    assert page.frame.evaluate(CUT_OFF) == []
    if axe:
        assert page.serious_violations() == []


def test_nothing_is_cut_off_or_out_of_reach_in_the_light(page, keep_screenshot):
    page.part("comparison-tensor").first.click()
    check_look(page)
    page.page.set_viewport_size({"width": 800, "height": 900})
    check_look(page, axe=False)
    page.page.set_viewport_size({"width": 1280, "height": 800})
    page.part("difference-line").focus()
    keep_screenshot(page.page, "comparison-light")


def test_nothing_is_cut_off_or_out_of_reach_in_the_dark(browser, address, keep_screenshot):
    with quiet_page(browser, f"{address}{COMPARED}", scheme="dark", width=1920, height=1080) as page:
        check_look(page, axe=False)
        page.page.set_viewport_size({"width": 1280, "height": 800})
        keep_screenshot(page.page, "comparison-dark")
        page.page.set_viewport_size({"width": 800, "height": 900})
        check_look(page)


def test_long_names_are_cut_with_a_sign(browser, address):
    with open_page(browser, f"{address}#debugger&p.debugger.run=long&p.debugger.other=long_changed") as page:
        check_look(page, axe=False)
        for width in (800, 1920):
            page.page.set_viewport_size({"width": width, "height": 900})
            check_look(page, axe=False)
