"""`frontend/src/views/changed_tag.tsx`: a value that a debugger changed is marked where the page has it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.support.debugger_page import each_window, quiet_page
from tests.support.events import values_program
from tests.support.serving import await_run, tensorboard

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

_WORDS = re.compile(r"the numbers are those before\.\nLog:0 was set to np\.nan_to_num\(value\)$")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A TensorBoard on three calls of a function; in the last, the value of an op was changed."""
    folder = tmp_path_factory.mktemp("changed")
    recording = values_program(folder / "logdir")
    recording.changed_value("Log", "np.nan_to_num(value)")
    recording.close()
    with tensorboard(folder / "logdir", folder / "tensorboard.txt") as address:
        await_run(address)
        yield address


@each_window
def test_a_changed_value_is_marked_in_the_timeline_and_in_its_history(
    browser, address, scheme, width, height
):
    link = f"{address}/#debugger&p.debugger.execution=5&p.debugger.value=t5"
    with quiet_page(browser, link, scheme=scheme, width=width, height=height) as page:
        expect(page.part("status-changed-values")).to_have_text("1 value changed")
        mark = page.part("history-changed")
        expect(mark).to_have_count(1)
        expect(mark).to_have_text(_WORDS)
        expect(page.part("value-chart")).to_have_attribute(
            "aria-label", re.compile("^History; 1 value changed")
        )
        assert page.serious_violations() == []
        page.page.keyboard.press("Escape")
        expect(page.part("value-view")).to_have_count(0)
        expect(page.frame.locator("#box-5")).to_have_attribute("title", _WORDS)
        expect(page.frame.locator(".timeline-boxes .box-changed")).to_have_count(1)
