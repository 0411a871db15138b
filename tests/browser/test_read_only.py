"""`frontend/src/views/live/live_bar.tsx`: with `--debugger_read_only` TensorBoard only shows programs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.support.debugger_page import DebuggerPage, open_page
from tests.support.events import small_program
from tests.support.live_page import check_that_nothing_can_be_commanded, live_logdir
from tests.support.live_program import ScriptedProgram

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

_WHY = "This viewer is read-only: TensorBoard was started with --debugger_read_only."


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory) -> Iterator[tuple[DebuggerPage, ScriptedProgram]]:
    recording = small_program(tmp_path_factory.mktemp("live") / "train")
    log, command = tmp_path_factory.mktemp("log") / "log.txt", ("tensorboard.main", "--debugger_read_only")
    with live_logdir(recording, log, program=command) as live, live.program() as program:
        with open_page(browser, f"{live.address}/#debugger") as page:
            yield page, program


def test_controls_and_keys_are_off_and_say_why(opened):
    page, program = opened
    expect(page.part("live-headline")).to_have_text("Live: Waiting for you before loss (call 0)")
    check_that_nothing_can_be_commanded(page, _WHY)
    assert program.commands == []


def test_requests_of_the_page_are_refused(opened):
    page, program = opened
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
