"""`frontend/src`: a user gets from a recorded run to the line that made the first NaN."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.support.debugger_page import open_page, page_on
from tests.support.events import small_program
from tests.support.live_program import ScriptedProgram, served
from tests.support.programs import record_example_with_tensorflow
from tests.support.serving import tensorboard

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow]

SCHEMES = ("light", "dark")
_LIVE_MS = 15_000
# As the page says it: "float32 [100, 10] · 1,000 values · 200 0, 800 +".
_SOME_ZEROS = re.compile(r" [1-9][\d,]* 0(,|$)")


@pytest.fixture(params=SCHEMES)
def page_at_first_nan(request, browser, example_address):
    """The example's page at its first cause."""
    with open_page(browser, example_address, scheme=request.param, in_tensorboard=True) as page:
        page.scheme = request.param
        page.await_first_cause()
        yield page


def test_the_debugger_tab_is_active_by_itself(browser, example_address):
    with open_page(browser, example_address, in_tensorboard=True) as page:
        assert page.frame
        assert page.active_tab().lower() == "debugger"


def test_the_alert_leads_to_the_log_of_the_underflowed_probabilities(page_at_first_nan):
    expect(page_at_first_nan.part("graph-structure-op")).to_contain_text("Log")
    inputs = page_at_first_nan.part("graph-structure-input")
    expect(inputs).to_have_count(1)
    expect(inputs.get_by_title(_SOME_ZEROS)).to_be_visible()


def test_the_alert_opens_the_source_at_the_line_of_the_log(page_at_first_nan):
    expect(page_at_first_nan.part("source-line-focused")).to_contain_text("tf.math.log(probs)")


def test_the_page_is_accessible_and_quiet(page_at_first_nan, keep_screenshot):
    expect(page_at_first_nan.part("source-line-focused")).to_be_visible()
    keep_screenshot(page_at_first_nan.page, f"debugger-{page_at_first_nan.scheme}")
    assert page_at_first_nan.serious_violations() == []
    assert page_at_first_nan.complaints == []


def test_a_logdir_without_debug_events_says_which_line_to_add(browser, tmp_path):
    logdir = tmp_path / "empty"
    logdir.mkdir()
    with page_on(browser, logdir, "/#debugger") as page:
        expect(page.frame.locator("body")).to_contain_text("enable_dump_debug_info(")
        expect(page.frame.locator("body")).to_contain_text("at any place before what you want to see")
        expect(page.part("logdir-problems")).to_have_count(0)


@pytest.mark.parametrize("exists", [True, False])
def test_tensorboard_opened_before_the_program_shows_the_tab_and_then_the_program(browser, tmp_path, exists):
    logdir = tmp_path / "empty"
    if exists:
        logdir.mkdir()
    with page_on(browser, logdir, "/", in_tensorboard=True) as page:
        expect(page.page.get_by_role("tab", name="Debugger")).to_be_visible(timeout=_LIVE_MS)
        expect(page.frame.locator("body")).to_contain_text("enable_dump_debug_info(")
        (logdir / "train").mkdir(parents=True)
        with served(ScriptedProgram(), logdir / "train"):
            expect(page.part("live-headline")).to_contain_text("Waiting for you", timeout=_LIVE_MS)


@pytest.mark.long
def test_what_in_the_logdir_cannot_be_looked_at_is_said_with_runs_and_without(browser, tmp_path):
    folder = tmp_path / "<b>logs"
    folder.mkdir()
    problem = {"location": "s3://bucket/<i>x</i>", "message": "Access denied: check the credentials."}
    answers = {"logdir": {"logdir": str(folder), "problems": [problem]}}
    with tensorboard(folder, tmp_path / "tensorboard.txt") as address:
        with open_page(browser, f"{address}/#debugger", answers=answers) as page:
            expect(page.frame.locator("body")).to_contain_text(f"Not everything in {folder} could be")
            expect(page.part("logdir-problems")).to_have_text(f"{problem['location']}: {problem['message']}")
            assert page.complaints == [] and page.serious_violations() == []
            small_program(folder / "run").close()
            summary = page.frame.get_by_text("1 place not readable")
            summary.click(timeout=_LIVE_MS)
            expect(page.part("logdir-problems")).to_be_visible()
            expect(page.part("logdir-problems")).to_be_in_viewport()
            assert page.complaints == [] and page.serious_violations() == []


@pytest.mark.long
def test_the_page_shows_what_tensorflows_own_recorder_wrote(browser, tmp_path):
    logdir = tmp_path / "logdir"
    record_example_with_tensorflow(logdir, steps=3)
    with page_on(browser, logdir) as page:
        page.await_first_cause()
        expect(page.part("graph-structure-op")).to_contain_text("Log")
        expect(page.part("source-line-focused")).to_contain_text("tf.math.log(probs)")
