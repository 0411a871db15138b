"""`index/dumps`: the page shows a dump folder of tfdbg v1 that TensorFlow wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.debugger_page import page_on

pytestmark = pytest.mark.browser

(_FOLDER,) = (Path(__file__).parents[1] / "golden").glob("dumps-tensorflow-*")


@pytest.mark.long
def test_a_dump_folder_is_shown_with_its_first_bad_value(browser, tmp_path, keep_screenshot):
    with page_on(browser, _FOLDER / "session", scheme="light") as page:
        page.await_first_cause()
        expect(page.part("graph-executions-row")).not_to_have_count(0)
        expect(page.part("graph-structure-op")).to_contain_text("logs")
        expect(page.part("graph-structure-op")).to_contain_text("−∞")
        expect(page.part("session-runs")).to_contain_text("3 runs of sessions")
        runs = page.part("session-run")
        expect(runs).to_have_count(3)
        expect(runs.first).to_contain_text("logs:0")
        keep_screenshot(page.page, "dump-folder")
        assert page.serious_violations() == []
