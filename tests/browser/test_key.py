"""`frontend/src/views/key_prompt.tsx`: commands need the key, of the address or of the reader."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import expect

from tests.support.debugger_page import DebuggerPage, open_page
from tests.support.events import small_program
from tests.support.live_page import live_logdir
from tests.support.live_program import ScriptedProgram
from tests.support.serving import KEY

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]


class Served(NamedTuple):
    """A TensorBoard over a program that waits.

    Attributes:
      address: Its address.
      program: The program.
      log: What TensorBoard prints.
    """

    address: str
    program: ScriptedProgram
    log: Path


@pytest.fixture(scope="module")
def served_program(tmp_path_factory) -> Iterator[Served]:
    log = tmp_path_factory.mktemp("log") / "tensorboard.txt"
    recording = small_program(tmp_path_factory.mktemp("live") / "train")
    with live_logdir(recording, log) as live, live.program() as program:
        yield Served(live.address, program, log)


_keyless = partial(open_page, has_key=False, in_tensorboard=True)


def _outer_hash(page: DebuggerPage) -> str:
    return str(page.page.evaluate("location.hash"))


@pytest.mark.long
def test_without_a_key_a_command_asks_for_it_and_is_done_then(browser, served_program):
    program = served_program.program
    before = len(program.commands)
    with _keyless(browser, f"{served_program.address}/#debugger") as page:
        page.click("live-step")
        prompt = page.part("key-prompt")
        expect(prompt).to_contain_text("Commands need the key that TensorBoard printed when it started.")
        assert page.serious_violations() == []
        page.part("key-field").fill("wrong")
        page.part("key-give").click()
        expect(prompt).to_contain_text("That is not the key of this TensorBoard")
        assert len(program.commands) == before
        page.part("key-field").fill(f"http://localhost:6006/#debugger&p.debugger.key={KEY}")
        page.part("key-field").press("Enter")
        expect(prompt).to_have_count(0)
        page.frame.wait_for_function("document.documentElement.dataset.idle === 'true'")
        assert len(program.commands) == before + 1
        page.click("live-step")
        assert len(program.commands) == before + 2
        # Only the wrong key was refused.
        assert [text for text in page.complaints if "live/control" in text][1:] == []


def test_a_command_is_left_when_the_key_is_not_given(browser, served_program):
    before = len(served_program.program.commands)
    with _keyless(browser, f"{served_program.address}/#debugger") as page:
        page.click("live-step")
        page.part("key-prompt").press("Escape")
        expect(page.part("key-prompt")).to_have_count(0)
        expect(page.part("live-problem")).to_have_text(
            "Nothing was done: commands need the key of this TensorBoard."
        )
        page.click("live-step")
        expect(page.part("key-prompt")).to_be_visible()
        page.part("key-cancel").click()
        expect(page.part("key-prompt")).to_have_count(0)
    assert len(served_program.program.commands) == before


@pytest.mark.long
def test_the_page_takes_the_key_out_of_its_address_and_keeps_it_for_the_tab(browser, served_program):
    before = len(served_program.program.commands)
    link = f"{served_program.address}/#debugger&p.debugger.key={KEY}"
    with _keyless(browser, link) as page:
        expect(page.part("live-headline")).to_be_visible()
        assert "key" not in _outer_hash(page) and KEY not in page.page.url
        page.click("live-step")
        page.page.goto(f"{served_program.address}/#debugger")
        page.page.reload()
        page.click("live-step")
        assert KEY not in page.page.url and "p.debugger.run" in _outer_hash(page)
        assert len(served_program.program.commands) == before + 2
        # A link that is opened in the tab afterwards, too.
        page.page.evaluate("hash => { location.hash = hash }", f"#debugger&p.debugger.key={KEY}")
        page.page.wait_for_function("!location.hash.includes('key')")
        expect(page.part("key-prompt")).to_have_count(0)


def test_tensorboard_prints_the_link_that_a_browser_opens(browser, served_program):
    with open_page(browser, f"{served_program.address}/#debugger", in_tensorboard=True):
        pass
    said = served_program.log.read_text()
    (link,) = [word for word in said.split() if word.startswith("http") and "p.debugger.key" in word]
    assert link == f"{served_program.address}/#debugger&p.debugger.key={KEY}"


def test_under_an_unknown_name_the_page_says_which_variable_names_it(browser, served_program):
    route = "**/data/plugin/debugger/runs"
    request = urllib.request.Request(f"{served_program.address}/data/plugin/debugger/runs")
    request.add_header("Host", "board.example")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request)
    with refused.value as error:
        body = error.read().decode()
    context = browser.new_context()
    context.route(route, lambda asked: asked.fulfill(status=403, body=body))
    context.route("**/data/plugin/debugger/live/**", lambda asked: asked.fulfill(status=403, body=body))
    try:
        page = DebuggerPage(context.new_page(), f"{served_program.address}/#debugger")
        frame = page.page.frame_locator("iframe[src*='plugin_entry.html?name=debugger']")
        expect(frame.locator("body")).to_contain_text("TB_DEBUGGER_ALLOWED_HOSTS=name")
    finally:
        context.close()
