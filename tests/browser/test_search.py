"""`frontend/src/views/search.tsx`: the search field finds things by name, with the keyboard and the mouse."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.support.debugger_page import quiet_page

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow]


def test_the_list_of_what_is_found_scrolls_in_a_low_window(browser, example_address):
    with quiet_page(browser, example_address, height=400) as page:
        page.part("search").fill("log")
        expect(page.part("search-found").first).to_be_visible()
        found = page.frame.get_by_role("listbox", name="Found")
        assert found.evaluate("found => found.scrollHeight > found.clientHeight")
        assert page.serious_violations() == []


@pytest.mark.long
def test_a_tensor_and_a_line_are_found_by_name_and_a_reload_comes_back_to_them(browser, example_address):
    with quiet_page(browser, example_address, scheme="dark") as page:
        keyboard, field, actual = page.page.keyboard, page.part("search"), page.part("search-found")
        page.part("graph-executions-row").first.click()
        keyboard.press("/")
        expect(field).to_be_focused()
        keyboard.type("log:0")
        first = actual.first
        expect(first).to_have_attribute("aria-selected", "true")
        expect(first).to_contain_text("Log:0")
        assert page.serious_violations() == []
        keyboard.press("ArrowDown")
        expect(first).to_have_attribute("aria-selected", "false")
        keyboard.press("ArrowUp")
        keyboard.press("Enter")
        expect(actual).to_have_count(0)
        op = page.part("graph-structure-op")
        expect(op).to_contain_text("Log")
        expect(op).to_contain_text("−∞")  # the first bad one, not the last
        keyboard.press("Control+k")
        keyboard.type("digits, tf.nn.softmax")
        expect(actual).not_to_have_count(0)
        keyboard.press("Escape")
        expect(actual).to_have_count(0)
        keyboard.press("Enter")
        expect(page.part("source-line-focused")).to_contain_text("tf.nn.softmax")
        expect(page.part("source-line-focused")).to_be_in_viewport()
        page.page.reload()
        expect(page.part("source-line-focused")).to_contain_text("tf.nn.softmax")
        expect(page.part("graph-structure-op")).to_contain_text("Log")
        field = page.part("search")
        field.fill("cross_entropy")
        page.part("search-found").filter(has_text="cross_entropy").first.click()
        expect(page.part("execution-card")).to_contain_text("cross_entropy")
