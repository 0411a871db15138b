"""`frontend/src/views/steps.tsx`: the page says which step is in focus, goes to others, and keeps to one."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.support.debugger_page import page_on
from tests.support.events import Recording, full_health

pytestmark = pytest.mark.browser

STEPS = 5


def training(logdir):
    """Writes a training that computes one NaN, in step 2."""
    with Recording(logdir) as recording:
        recording.graph("g1", "loss")
        recording.op("g1", "x", "Placeholder", ids=[10])
        recording.op("g1", "Log", "Log", ["x:0"], ids=[11])
        for step in range(STEPS):
            recording.step = step
            recording.trace("g1", "x", full_health([1.0], 10))
            recording.trace("g1", "Log", full_health([float("nan") if step == 2 else 1.0], 11))
            recording.execution("__inference_loss_7", [full_health([1.0])], graph_id="g1", ids=[step])


@pytest.mark.long
def test_the_same_op_is_found_in_other_steps_by_keys_and_by_the_slider(browser, tmp_path):
    logdir = tmp_path / "logdir"
    training(logdir)
    with page_on(browser, logdir) as page:
        bar, op = page.part("steps"), page.part("graph-structure-op")
        expect(bar).to_contain_text("step 2 of 5")
        expect(op).to_contain_text("step 2 of 5")
        expect(op).to_contain_text("1 NaN")
        page.frame.locator("body").press("]")
        expect(bar).to_contain_text("step 3 of 5")
        expect(op).to_contain_text("Log")
        expect(op).not_to_contain_text("NaN")
        page.frame.locator("body").press("[")
        page.frame.locator("body").press("[")
        expect(bar).to_contain_text("step 1 of 5")
        page.frame.get_by_role("slider", name="Step").fill("4")
        expect(bar).to_contain_text("step 4 of 5")
        expect(page.part("step-after")).to_be_disabled()


@pytest.mark.long
def test_the_list_keeps_to_one_step_also_in_a_link(browser, tmp_path):
    logdir = tmp_path / "logdir"
    training(logdir)
    with page_on(browser, logdir) as page:
        listed = page.part("list-tab-graph_executions").locator(".list-count")
        expect(listed).to_have_text("10")
        page.part("step-only").check()
        expect(listed).to_have_text("2 of 10")
        expect(page.part("steps")).to_contain_text("only step 2")
        page.part("step-only").uncheck()
        expect(listed).to_have_text("10")
    with page_on(browser, logdir, "/#debugger&p.debugger.run=.&p.debugger.filter=step%3A1..3") as page:
        expect(page.part("list-tab-graph_executions").locator(".list-count")).to_have_text("6 of 10")
        expect(page.part("steps")).to_contain_text("only step 1..3")
