"""Recordings, TensorBoards and a browser for the tests of the page."""

from __future__ import annotations

import re
from contextlib import ExitStack

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.support.checkout import ROOT
from tests.support.chromium import ADVICE, find_chromium
from tests.support.debugger_page import BROWSER_ARGS, Surroundings, quiet_page
from tests.support.live_page import headline
from tests.support.programs import record_example
from tests.support.serving import WITH_TENSORFLOW, tensorboard

STEPS = 5


@pytest.fixture(scope="session")
def browser(request):
    """A real Chromium."""
    Surroundings.in_tensorboard = request.config.getoption("--update-screenshots")
    path = find_chromium()
    if path is None:
        pytest.skip(ADVICE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(BROWSER_ARGS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def example_logdir(tmp_path_factory):
    """The example, recorded for some steps."""
    logdir = tmp_path_factory.mktemp("example") / "digits"
    record_example(logdir, "--steps", str(STEPS))
    return logdir


@pytest.fixture(scope="session")
def example_address(example_logdir, tmp_path_factory):
    """A TensorBoard on the recorded example; it has TensorFlow, as that of most users."""
    log = tmp_path_factory.mktemp("log") / "tensorboard.txt"
    with tensorboard(example_logdir, log, program=WITH_TENSORFLOW) as address:
        yield address


@pytest.fixture
def opened(browser, live):
    """Opens a page on a program of its own, with a panel; the page must not have complained at the end."""
    with ExitStack() as stack:
        stack.callback(live.wait_for_ends)

        def open_it(panel=None, *, program=None, **window):
            made = stack.enter_context(live.program(**(program or {})))
            page = stack.enter_context(quiet_page(browser, live.address, **window))
            expect(headline(page)).to_have_text(re.compile("^Live: (Waiting|Running)"))
            if panel is not None:
                page.click(f"dock-tab-{panel}")
            return page, made

        yield open_it


@pytest.fixture
def keep_screenshot(request):
    """Keep a screenshot under a name: in test-results, or with --update-screenshots where README shows it."""
    update = request.config.getoption("--update-screenshots")
    folder = ROOT / "docs" / "images" if update else ROOT / "test-results"

    def keep(page, name):
        folder.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=folder / f"{name}.png")

    return keep
