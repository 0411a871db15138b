"""`analysis/report/html_page.py`: a report opens from a file, in both colour schemes, and fetches nothing."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tb_debugger_plugin.cli.main import main
from tests.support.events import small_program

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_opens_without_a_server(browser, tmp_path, scheme, keep_screenshot):
    small_program(tmp_path / "run").close()
    file = tmp_path / "report.html"
    assert main(["report", str(tmp_path / "run"), "-o", str(file)]) == 0
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    requests: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(file.as_uri())
    expect(page.locator(".card")).to_contain_text("Log in loss, train.py:3")
    expect(page.locator("svg").first).to_be_visible()
    keep_screenshot(page, f"report-{scheme}")
    assert requests == [file.as_uri()] and complaints == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    context.close()
