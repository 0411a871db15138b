"""`frontend/src/views/glance.tsx`: a run without a bad value opens on what was checked and found."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.support.debugger_page import page_on
from tests.support.events import Recording, full_health

pytestmark = pytest.mark.browser


def _training(logdir, values, *, then=(), host="worker0", layer="dense"):
    """Writes a training whose layer computes `values` in each of twelve steps, and then `then`."""
    with Recording(logdir, host=host) as recording:
        recording.graph("g1", "train_step")
        recording.op("g1", "x", "Placeholder", ids=[10])
        recording.op("g1", "dense/Relu", "Relu", ["x:0"], ids=[11], layer=layer)
        for step, computed in enumerate([*[values] * 12, *then]):
            recording.step = step
            recording.now += 9.0 if step == 7 else 1.0
            recording.trace("g1", "x", full_health([1.0, 2.0, 3.0], 10))
            recording.trace("g1", "dense/Relu", full_health(computed, 11))
            result = [full_health(computed[:1])]
            recording.execution("__inference_train_7", result, graph_id="g1", ids=[step])
        recording.counts(12 + len(then), 2 * (12 + len(then)), finished=True)


@pytest.mark.long
def test_a_healthy_run_says_what_was_checked_and_what_was_not(browser, tmp_path):
    _training(tmp_path / "logdir", [1.0, 2.0])
    with page_on(browser, tmp_path / "logdir") as page:
        expect(page.part("glance-verdict")).to_contain_text("No NaN and no infinity")
        checked = page.part("glance-checked")
        expect(checked).to_contain_text("Nothing found by NaN/∞")
        expect(checked).to_contain_text("Needs FULL_NUMERICS")
        expect(page.part("glance-recorded")).to_contain_text("12 steps: steps that the program marks")
        expect(page.part("glance-largest")).to_contain_text("step 7")
        expect(page.part("glance-largest")).to_contain_text("Most elements3x:0")
        assert page.serious_violations() == []
        page.click("glance-recording")
        expect(page.part("glance")).to_have_count(0)
        expect(page.part("list-tab-graph_executions")).to_contain_text("24")


@pytest.mark.long
def test_silent_trouble_is_named_and_in_focus_without_a_click(browser, tmp_path):
    _training(tmp_path / "logdir", [0.0, 0.0])
    with page_on(browser, tmp_path / "logdir", scheme="dark") as page:
        expect(page.part("glance-verdict")).to_contain_text("! Alert rules found")
        found = page.part("glance-finding").first
        expect(found).to_contain_text("Dead ReLU: 100 % inactive")
        # A layer says more than the op in it; of one process, its name says nothing.
        expect(found.get_by_role("button")).to_have_text("layer dense")
        expect(found).not_to_contain_text("worker0")
        expect(page.part("graph-structure-op")).to_contain_text("layer dense")
        assert page.serious_violations() == []


def test_a_long_name_of_a_layer_is_cut_before_what_stands_after_it(browser, tmp_path):
    _training(tmp_path / "logdir", [0.0, 0.0], layer="encoder/" * 20 + "dense")
    with page_on(browser, tmp_path / "logdir") as page:
        found = page.part("glance-finding").first
        name = found.get_by_role("button")
        is_whole = name.evaluate(
            "one => one.scrollWidth <= one.clientWidth || getComputedStyle(one).overflow"
        )
        after = found.get_by_text("from step 0")
        assert is_whole == "hidden"
        box, following = name.bounding_box(), after.bounding_box()
        assert box["x"] + box["width"] <= following["x"]


def test_of_two_processes_the_one_in_trouble_is_named(browser, tmp_path):
    _training(tmp_path / "logdir", [1.0, 2.0])
    _training(tmp_path / "logdir", [0.0, 0.0], host="worker1")
    with page_on(browser, tmp_path / "logdir") as page:
        expect(page.part("glance-finding").first).to_contain_text("from step 0 · worker1")
        expect(page.part("verdict")).to_contain_text("in dense/Relu:0 (Relu) of worker1.")


@pytest.mark.long
def test_a_bad_value_and_a_link_open_the_recording(browser, tmp_path):
    _training(tmp_path / "bad", [1.0], then=[[float("nan")]])
    with page_on(browser, tmp_path / "bad") as page:
        expect(page.part("graph-structure-op")).to_contain_text("1 NaN")
        expect(page.part("glance")).to_have_count(0)
    _training(tmp_path / "good", [1.0])
    with page_on(browser, tmp_path / "good", "/#debugger&p.debugger.run=.&p.debugger.trace=3") as page:
        expect(page.part("graph-structure-op")).to_contain_text("dense/Relu")
        expect(page.part("glance")).to_have_count(0)
        page.click("dock-tab-glance")
        expect(page.part("glance-verdict")).to_contain_text("No NaN")
