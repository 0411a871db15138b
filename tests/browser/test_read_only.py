"""`frontend/src/views/live/live_bar.tsx`: with `--debugger_read_only` TensorBoard only shows programs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import expect

from tests.support.debugger_page import DebuggerPage, open_page
from tests.support.events import small_program
from tests.support.live_program import ScriptedProgram, served
from tests.support.serving import tensorboard

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

_WHY = "This viewer is read-only: TensorBoard was started with --debugger_read_only."


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory) -> Iterator[tuple[DebuggerPage, ScriptedProgram]]:
    logdir, log = tmp_path_factory.mktemp("live"), tmp_path_factory.mktemp("log") / "tensorboard.txt"
    recording = small_program(logdir / "train")
    recording.close()
    command = ("tensorboard.main", "--debugger_read_only")
    with ExitStack() as stack:
        program = ScriptedProgram()
        stack.enter_context(served(program, logdir / "train", files=recording.files.prefix))
        address = stack.enter_context(tensorboard(logdir, log, program=command))
        page = stack.enter_context(open_page(browser, f"{address}/#debugger"))
        yield page, program


def test_controls_are_off_and_say_why(opened):
    page, program = opened
    expect(page.part("live-headline")).to_have_text("Live: Waiting for you before loss (call 0)")
    for name in ("step", "stepOver", "continue", "pause", "detach", "stop"):
        button = page.part(f"live-{name}")
        expect(button).to_have_attribute("aria-disabled", "true")
        expect(button).to_have_attribute("title", _WHY)
        button.click(force=True)
    page.part("dock-tab-breakpoints").click()
    page.part("breakpoint-text").fill("Log")
    expect(page.part("breakpoint-add")).to_be_disabled()
    assert program.commands == []


def test_keys_and_requests_of_the_page_are_refused(opened):
    page, program = opened
    page.part("live-headline").wait_for()
    for key in ("F8", "F9", "F10", "F11"):
        page.frame.locator("body").press(key)
    answer = page.frame.evaluate(
        """async () => {
          const { programs } = await (await fetch('live/programs')).json();
          const key = sessionStorage.getItem('tb_debugger_plugin.key');
          const headers = { 'Content-Type': 'application/json', 'X-TB-Debugger-Key': key };
          const body = JSON.stringify({ program: programs[0].id, command: { step: {} } });
          const response = await fetch('live/control', { method: 'POST', headers, body });
          return { status: response.status, ...(await response.json()) };
        }"""
    )
    assert answer["status"] == 403 and "read-only" in answer["error"]
    assert program.commands == [] and program.state().pause.number == 1
