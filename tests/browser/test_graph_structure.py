"""`frontend/src/views/graph_structure.tsx`: slots, identities, functions that an op runs, many neighbours."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.support.debugger_page import quiet_page
from tests.support.events import Recording, full_health
from tests.support.serving import tensorboard

pytestmark = pytest.mark.browser

_CONSUMERS = 70


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A TensorBoard on a graph whose op `call` runs the function `inner`, and whose `x` goes to many ops."""
    folder = tmp_path_factory.mktemp("structure")
    recording = Recording(folder / "run", recorder_version="0.1.0")
    recording.graph("g1", "outer")
    recording.graph("g2", "inner", "g1")
    recording.op("g1", "x", "Placeholder", ids=[10])
    recording.op("g1", "y", "Placeholder", ids=[11])
    recording.op("g1", "passed", "Identity", ["x:0"], ids=[12])
    recording.op("g1", "div", "RealDiv", ["y:0", "passed:0"], ids=[13])
    recording.op("g1", "call", "PartitionedCall", ["div:0"], ids=[14], called_graph_ids=["g2"])
    for i in range(_CONSUMERS - 1):
        recording.op("g1", f"taker_{i}", "Neg", ["x:0"], ids=[100 + i])
    recording.op("g2", "a", "Placeholder", ids=[200])
    recording.op("g2", "result", "Exp", ["a:0"], ids=[201])
    zeros, infinite = full_health([0.0, 1.0]), full_health([float("inf"), 1.0])
    recording.trace("g1", "x", zeros)
    recording.trace("g1", "y", full_health([1.0, 1.0]))
    recording.trace("g1", "div", infinite)
    recording.trace("g2", "a", infinite)
    recording.trace("g2", "result", infinite)
    recording.trace("g1", "call", infinite)
    recording.execution("__inference_outer_7", [infinite], graph_id="g1", ids=[3])
    recording.counts(1, 6, finished=True)
    recording.close()
    with tensorboard(folder / "run", folder / "tensorboard.txt") as address:
        yield address


def test_an_identity_shows_the_numbers_of_what_it_passes_on_and_they_give_the_reason(browser, address):
    with quiet_page(browser, address) as page:
        page.await_first_cause()
        passed = page.part("graph-structure-input").filter(has_text="passed:0")
        expect(passed).to_contain_text("same as x:0")
        expect(passed).to_contain_text("1 zero")
        expect(passed).to_have_attribute("title", "Go to passed:0 · feeds input 1 · same as x:0")
        expect(page.frame.locator(".slot-number")).to_have_text(["0", "1"])
        expect(page.frame.locator(".why")).to_have_text("Its input passed:0 held 1 zero: x / 0 is infinite.")
        passed.click()
        expect(page.part("graph-structure-op")).to_contain_text("same as x:0")
        expect(page.part("graph-structure-op")).to_contain_text("1 zero")
        assert page.serious_violations() == []


def test_what_an_op_runs_is_a_link_to_what_that_computed_last(browser, address):
    with quiet_page(browser, address) as page:
        page.part("graph-executions-row").filter(has_text="call:0").click()
        page.click("graph-structure-runs")
        expect(page.part("graph-structure-op")).to_contain_text("result")


def test_more_neighbours_than_fit_are_counted_and_shown_when_asked_for(browser, address):
    with quiet_page(browser, address) as page:
        page.part("graph-executions-row").filter(has_text="x:0").click()
        consumers = page.part("graph-structure-consumer")
        expect(consumers).to_have_count(60)
        expect(page.frame.locator(".column-out")).to_have_text(f"60 of {_CONSUMERS} consumers shown")
        expect(consumers.filter(has_text="passed")).to_contain_text("in 0")
        page.click("graph-structure-more-consumer")
        expect(consumers).to_have_count(_CONSUMERS)
        expect(page.frame.locator(".column-out")).to_have_text(f"{_CONSUMERS} consumers")
        expect(page.part("graph-structure-more-consumer")).to_have_count(0)
