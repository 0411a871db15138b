"""`frontend/src/base/host.ts`: the page behind a path prefix, and in the frame of a notebook."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Frame, expect

from tests.support.debugger_page import open_page
from tests.support.events import small_program
from tests.support.serving import answering, free_port, tensorboard

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

_CAUSE = "Log"
#: As notebooks write it for the output of a cell: TensorBoard has another port.
_CELL = """<!doctype html><html lang="en"><title>Notebook</title><body>
<iframe id="tensorboard-frame-1" width="100%" height="800" src="{address}/#debugger"></iframe>"""


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("surroundings")
    small_program(folder / "train").close()
    return folder


@pytest.mark.long
def test_behind_a_path_prefix_all_is_found(browser, logdir, tmp_path):
    port = free_port()
    options = ["--logdir", str(logdir), "--port", str(port), "--host", "127.0.0.1", "--path_prefix", "/a/b"]
    command = ["-m", "tests.support.without_tensorflow", "tensorboard", *options]
    page_of = "a/b/data/plugins_listing"
    with answering(command, port, tmp_path / "log.txt", page=page_of) as address:
        with open_page(browser, f"{address}/a/b/#debugger", in_tensorboard=True) as page:
            page.await_first_cause()
            expect(page.part("first-bad")).to_contain_text(_CAUSE)
            page.click("dock-tab-graph")
            expect(page.part("graph-frame")).to_be_visible()
            # TensorBoard asks for its own fonts without the prefix.
            theirs = ("/font-roboto/", "Failed to load resource")
            assert not [one for one in page.complaints if not any(word in one for word in theirs)]
            assert not [one for one in page.complaints if "/plugin/" in one]


def _debugger_in(browser: Browser, notebook: str) -> tuple[Frame, list[str]]:
    """Open a notebook with TensorBoard in a cell; return the debugger's document and the complaints."""
    context = browser.new_context(viewport={"width": 1000, "height": 900})
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(notebook)
    inner = page.frame_locator("#tensorboard-frame-1").locator("iframe[src*='name=debugger']")
    frame = inner.element_handle(timeout=60_000).content_frame()
    assert frame is not None
    return frame, complaints


@pytest.mark.long
def test_in_the_frame_of_a_notebook_the_page_opens_on_the_cause(browser, logdir, tmp_path):
    port = free_port()
    served = ["-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(tmp_path)]
    with (
        tensorboard(logdir, tmp_path / "log.txt") as address,
        answering(served, port, tmp_path / "notebook.txt") as notebook,
    ):
        (tmp_path / "notebook.html").write_text(_CELL.format(address=address))
        frame, complaints = _debugger_in(browser, f"{notebook}/notebook.html")
        expect(frame.get_by_test_id("first-bad")).to_contain_text(_CAUSE)
        assert frame.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert complaints == []
        frame.page.context.close()
