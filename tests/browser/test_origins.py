"""`frontend/src/views/origin_card.tsx`: the card of an origin, its chain, and its marks in the graph."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from tb_debugger_plugin.analysis.beside import keep_trial
from tb_debugger_plugin.events.modes import TensorDebugMode
from tests.support.debugger_page import open_page, page_on, quiet_page
from tests.support.events import Recording, small_program, whole
from tests.support.serving import tensorboard

pytestmark = pytest.mark.browser


#: An origin as the server answers it.
_ORIGIN = {
    "op_type": "Log", "op_name": "Log", "output_slot": 0, "graph_id": "g1", "source": None, "step": 0,
    "execution_index": 1, "graph_execution_index": 1, "kind": "inf", "category": "origin",
    "kind_is_certain": True, "count": 1, "headline": "Log", "explanation": "It is.",
    "phrases": {"what": [], "why": [], "where": []}, "evidence": {"output": None, "inputs": []},
    "certainty": "proven", "missing": "The values would decide.", "chain": [],
}  # fmt: skip


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A TensorBoard on a small program whose log is infinite."""
    folder = tmp_path_factory.mktemp("origins")
    small_program(folder / "run").close()
    with tensorboard(folder, folder / "tensorboard.txt") as address:
        yield address


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_card_opens_with_the_origin_its_line_and_its_numbers(browser, address, scheme):
    with quiet_page(browser, address, scheme=scheme) as page:
        page.await_first_cause()
        card = page.part("first-bad")
        expect(card).to_contain_text("Origin of ∞: Log (tensor Log:0 in function loss)")
        expect(card).to_contain_text("the logarithm of 0 is −∞")
        expect(card).to_contain_text("train.py:3 return tf.math.log(x)")
        expect(page.part("evidence")).to_contain_text("x:0")
        expect(page.part("evidence").locator(".bad")).to_have_text("1 −∞")
        assert page.serious_violations() == []


def test_each_step_of_the_chain_leads_to_its_value(browser, address):
    with open_page(browser, address, width=1920, height=1080) as page:
        page.await_first_cause()
        steps = page.part("chain-step")
        expect(steps.last).to_contain_text("Log")
        expect(steps.last).to_have_attribute("aria-current", "step")
        steps.first.click()
        expect(steps.first).to_have_attribute("aria-current", "step")
        expect(steps.last).not_to_have_attribute("aria-current", "step")
        chips = page.part("chain-chip")
        expect(chips).to_have_count(steps.count())
        chips.first.click()
        expect(page.part("graph-structure-op")).to_contain_text("Log")
        expect(page.part("graph-structure-op")).to_have_class(re.compile("op-chain"))
        expect(page.frame.locator(".alerts .position")).to_have_text(re.compile(r"\d of \d"))


def test_other_origins_are_explained_when_they_are_chosen(browser, address):
    words = [{"role": "text", "text": "<i>One</i> infinity.", "target": None}]
    first = {**_ORIGIN, "phrases": {"what": words, "why": [], "where": []}, "certainty": "likely"}
    second = {**first, "op_name": "mul", "headline": "Mul in loss", "category": "came_in"}
    second["graph_execution_index"] = 2
    meant = {**first, "op_name": "mask", "headline": "A mask", "category": "expected"}
    answers = {"origins?*": {"generation": 1, "origins": [meant, first, second]}}
    with quiet_page(browser, address, answers=answers) as page:
        card = page.part("first-bad")
        expect(card).to_contain_text("<i>One</i> infinity.")
        expect(page.part("certainty")).to_have_text(
            "This is likely, but not proven. The values would decide."
        )
        expect(page.part("other-origins")).to_contain_text("1 other origin")
        page.part("other-origins").get_by_role("button", name="Mul in loss").click()
        expect(card).to_contain_text("Came in: ∞.")
        expect(page.part("graph-structure-op")).to_contain_text("Mul")
        page.part("expected-origins").get_by_text("1 bad value is expected").click()
        expect(page.part("expected-origins")).to_contain_text("It is.")


def test_a_run_whose_bad_values_are_all_expected_is_not_blamed(browser, address):
    meant = {**_ORIGIN, "op_type": "Const", "category": "expected", "explanation": "It is meant."}
    verdict = {
        "kind": "expected", "headline": "All bad values are expected", "sentences": ["None does harm."],
        "doubts": [], "is_whole": True, "is_good": True, "num_alerts": 0,
    }  # fmt: skip
    answers = {"origins?*": {"generation": 1, "origins": [meant]}, "verdict?*": verdict}
    with quiet_page(browser, address, answers=answers) as page:
        expect(page.part("verdict")).to_contain_text("✓ All bad values are expected")
        box = page.part("all-expected")
        box.get_by_text("1 bad value is expected").click()
        expect(box).to_contain_text("It is meant.")
        expect(page.part("first-bad")).to_have_count(0)
        assert page.serious_violations() == []


def test_the_alerts_of_one_origin_are_one_group_and_lead_to_it(browser, address):
    with quiet_page(browser, address) as page:
        page.await_first_cause()
        expect(page.part("group-totals")).to_have_text("1 cause, 4 tensors, 8 computations")
        page.part("alert-groups").locator("summary").click()
        groups = page.part("alert-groups").get_by_role("listitem")
        expect(page.part("group-by")).to_have_value("cause")
        expect(groups).to_have_count(1)
        expect(groups).to_contain_text("Origin of ∞: Log in loss, train.py:3")
        expect(groups).to_contain_text("critical · NaN or ∞ · 8 computations · first Log:0")
        groups.get_by_role("button").click()
        expect(page.part("graph-structure-op")).to_contain_text("Log")
        page.click("alert-type-InfNanAlert")
        expect(page.part("group-totals")).to_have_text("1 cause, 4 tensors, 8 computations")
        assert page.serious_violations() == []


@pytest.fixture(scope="module")
def kept_address(tmp_path_factory):
    """A TensorBoard on a run that keeps the values of a logarithm, whose first infinity is at [1, 37, 3]."""
    folder = tmp_path_factory.mktemp("kept")
    good = np.ones((2, 40, 4), np.float32)
    bad = good.copy()
    bad[1, 37, 3] = -np.inf
    with Recording(folder / "run", mode=TensorDebugMode.FULL_TENSOR) as recording:
        recording.device(1)
        recording.graph("g1", "loss")
        recording.op("g1", "x", "Placeholder", ids=[10])
        recording.op("g1", "Log", "Log", ["x:0"], ids=[11])
        recording.trace("g1", "x", whole(good * 0, 1))
        event = recording.trace_event("g1", "Log", whole(bad, 1))
        recording.writer.write("graph_execution_traces", event)
        recording.bad_element(event, int(np.flatnonzero(np.isinf(bad))[0]), shape=bad.shape)
        recording.execution("__inference_loss_7", [whole(bad, 1)], graph_id="g1", ids=[12])
        recording.counts(1, 2, finished=True)
    with tensorboard(folder, folder / "tensorboard.txt") as address:
        yield address


def test_the_card_says_which_element_is_bad_first_and_goes_there(browser, kept_address):
    with quiet_page(browser, kept_address, width=1440, height=900) as page:
        page.await_first_cause()
        card = page.part("first-bad")
        expect(card).to_contain_text("Its first bad element is [1, 37, 3] of [2, 40, 4].")
        card.get_by_test_id("bad-element").click()
        expect(page.part("value-slicing")).to_have_value("[1, :, :]")
        expect(page.part("value-cell")).to_have_text("[1, 37, 3] = -inf")
        assert page.serious_violations() == []
        # The button and the key of the value view go there from anywhere, and the table scrolls to it.
        view = page.part("value-view")
        expect(view.get_by_test_id("bad-element")).to_have_text("First bad: [1, 37, 3]")
        page.part("value-slicing").fill("[0, :, :]")
        page.part("value-slicing").press("Enter")
        page.click("value-tab-table")
        page.part("value-table").press("b")
        selected = page.frame.locator(".value-cell[aria-selected=true]")
        expect(selected).to_have_text("-inf")
        expect(selected).to_be_in_viewport()
        view.get_by_test_id("bad-element").click()
        expect(page.part("value-slicing")).to_have_value("[1, :, :]")


def test_a_kept_call_runs_again_and_the_card_says_what_was_tried(browser, tmp_path):
    small_program(tmp_path / "run").close()
    (metadata,) = (tmp_path / "run").glob("*.metadata")
    bundle = metadata.with_suffix(".replay_1")
    bundle.write_bytes(b"a call")
    words = "Tried with the call that was kept: with np.maximum(x:0, 1e-7) for x:0, nothing is bad."

    def run_again(route):
        keep_trial(bundle, "Log", words)
        route.fulfill(json={"tried": [words]})

    with page_on(browser, tmp_path) as page:
        page.await_first_cause()
        page.page.route("**/debugger/replay", run_again)
        expect(page.part("tried")).to_have_count(0)
        page.click("replay")
        expect(page.part("tried")).to_have_text(words)
        expect(page.part("replay")).to_have_text("Run the call again")
        assert page.serious_violations() == []
