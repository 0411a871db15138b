"""`frontend/src/views/gap_list.tsx`: the page names what a recording does not hold."""

from __future__ import annotations

import re
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tb_debugger_plugin.events.not_recorded import NotRecordedReason
from tests.support.debugger_page import page_on
from tests.support.events import full_health, small_program

pytestmark = pytest.mark.browser

_HOSTILE = '<img src=x onerror="document.title=1">'


def _healthy(folder):
    recording = small_program(folder, steps=0, recorder_version="0.1.0")
    recording.execution("Fill", [full_health([[1.0, 2.0]])], ids=[1], stack=["f1"])
    recording.trace("g1", "x", full_health([[1.0, 2.0]], 10))
    recording.execution("__inference_loss_7", [full_health([1.0])], graph_id="g1", inputs=[1], ids=[2])
    return recording


@contextmanager
def _shown(browser, recording, tmp_path):
    folder = recording.close()
    with page_on(browser, folder) as page:
        yield page
        assert page.serious_violations() == []


def test_a_whole_recording_without_a_bad_value_is_well(browser, tmp_path):
    recording = _healthy(tmp_path / "run")
    recording.counts(2, 1, finished=True)
    with _shown(browser, recording, tmp_path) as page:
        expect(page.part("verdict")).to_contain_text("✓ No NaN and no infinity")
        expect(page.part("verdict")).to_contain_text("2 executions and 1 tensor in graphs")
        expect(page.part("not-recorded")).to_have_count(0)
        expect(page.part("status-not-recorded")).to_have_count(0)


@pytest.mark.long
def test_what_was_not_watched_is_named_beside_no_nan_and_leads_to_its_calls(browser, tmp_path):
    recording = _healthy(tmp_path / "run")
    failed = "Watch ops could not be added: num_rows is not consistent."
    recording.not_recorded(NotRecordedReason.NOT_INSTRUMENTED, failed, "__inference_loss_7", graph_id="g1")
    names = [_HOSTILE, *(f"pipeline_{i}" for i in range(40))]
    recording.not_recorded(NotRecordedReason.MADE_BEFORE, "These were made before.", *names)
    recording.counts(2, 1, finished=True)
    with _shown(browser, recording, tmp_path) as page:
        box = page.part("verdict")
        expect(box).to_contain_text("No NaN and no infinity in what was recorded")
        expect(box).not_to_contain_text("✓")
        expect(box).to_contain_text(f"not watched: {failed}")
        expect(box).to_contain_text(_HOSTILE)
        expect(box.get_by_text("pipeline_39")).to_be_hidden()
        box.get_by_text("and 36 more").click()
        expect(box.get_by_text("pipeline_39")).to_be_visible()
        count = page.part("status-not-recorded")
        expect(count.locator("summary").first).to_have_text("⚠ 42 not recorded")
        count.locator("summary").first.click()
        expect(count.get_by_text(failed)).to_be_visible()
        count.locator("summary").first.click()
        box.get_by_role("button", name="loss").click()
        page.show_recording()
        expect(page.part("execution-card")).to_have_attribute("data-index", "1")


@pytest.mark.long
def test_a_recording_that_stopped_early_says_so_in_red_at_once(browser, tmp_path):
    recording = _healthy(tmp_path / "run")
    recording.counts(2, 1, finished=True, failure="the disk is full")
    with _shown(browser, recording, tmp_path) as page:
        bar = page.frame.locator(".status")
        expect(bar).to_contain_text("run stopped early")
        expect(bar).to_contain_text("⚠ not all recorded")
        expect(page.part("verdict")).to_contain_text(re.compile("stopped early.*the disk is full"))
        expect(page.part("verdict")).not_to_contain_text("✓")


@pytest.mark.long
def test_alerts_do_not_hide_that_something_was_not_recorded(browser, tmp_path):
    recording = small_program(tmp_path / "run", recorder_version="0.1.0")
    recording.not_recorded(NotRecordedReason.FILTERED, "The filter op_regex left these out.", "op_regex")
    with _shown(browser, recording, tmp_path) as page:
        expect(page.part("alert-type-InfNanAlert")).to_be_visible()
        note = page.part("also-missing")
        expect(note.get_by_text("The filter op_regex left these out.")).to_be_hidden()
        note.get_by_text("1 not recorded").click()
        expect(note.get_by_text("The filter op_regex left these out.")).to_be_visible()


@pytest.mark.long
def test_a_program_that_was_killed_is_not_called_live(browser, tmp_path):
    recording = _healthy(tmp_path / "run")
    recording.counts(2, 1, finished=False)
    with _shown(browser, recording, tmp_path) as page:
        expect(page.frame.locator(".status")).to_contain_text("run not ended")
        expect(page.part("verdict")).to_contain_text("No NaN and no infinity so far")
