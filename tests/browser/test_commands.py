"""`frontend/src/views/commands.ts`: the search field runs commands; `?` lists the keys; hints come once."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.test_steps import STEPS, training
from tests.support.debugger_page import open_page, page_on
from tests.support.serving import tensorboard

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    """A training that computes one NaN, in step 2."""
    folder = tmp_path_factory.mktemp("commands") / "logdir"
    training(folder)
    return folder


@pytest.mark.long
def test_commands_are_found_by_their_words_and_lead_to_steps_alerts_and_tabs(browser, logdir):
    with page_on(browser, logdir) as page:
        body, field = page.frame.locator("body"), page.part("search")
        expect(page.part("steps")).to_contain_text(f"step 2 of {STEPS}")
        body.press("Control+k")
        field.fill("> gla")
        expect(page.part("search-found")).to_have_text(["Show the run at a glancetab"])
        field.press("Enter")
        expect(page.part("glance-verdict")).to_be_visible()
        field.fill("> step 4")
        field.press("Enter")
        expect(page.part("steps")).to_contain_text(f"step 4 of {STEPS}")
        field.fill("alert 1")
        expect(page.part("search-found").filter(has_text="Go to alert 1")).to_be_visible()
        field.press("Enter")
        expect(page.part("steps")).to_contain_text(f"step 2 of {STEPS}")
        field.fill("> step 9")
        expect(page.part("search-found")).to_have_count(0)


@pytest.mark.long
def test_a_question_mark_lists_all_keys(browser, logdir):
    with page_on(browser, logdir, scheme="dark") as page:
        page.frame.locator("body").press("?")
        expect(page.part("key-help")).to_contain_text("shows the value in focus")
        assert page.serious_violations() == []
        page.frame.locator("body").press("Escape")
        expect(page.part("key-help")).to_have_count(0)


def test_three_hints_come_at_the_first_visit_and_never_again(browser, logdir, tmp_path):
    with (
        tensorboard(logdir, tmp_path / "tensorboard.txt") as address,
        open_page(browser, address, is_first_visit=True) as page,
    ):
        for number in (1, 2, 3):
            expect(page.part("hints")).to_contain_text(f"{number} of 3")
            page.click("hint-next")
        expect(page.part("hints")).to_have_count(0)
        page.page.reload()
        expect(page.part("steps")).to_be_visible()
        expect(page.part("hints")).to_have_count(0)
