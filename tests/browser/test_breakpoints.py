"""`tb_debugger_plugin/live`: the bug of real programs is found on the page while they are paused.

Each program trains a net whose probabilities become 0, so that their logarithms are infinite.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect

import tb_debugger_plugin
from tests.support.checkout import ROOT
from tests.support.debugger_page import DebuggerPage, open_page
from tests.support.serving import tensorboard

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow, pytest.mark.timeout(300)]

_GUIDE = str(ROOT / "docs" / "guide" / "train_a_net.py")
_RUN = ("-c", "import sys; from tb_debugger_plugin.cli.main import main; sys.exit(main())", "run")
_INTERACTIVE = (*_RUN, "--interactive", "--may-change-values", "--logdir", "{logdir}", _GUIDE)
#: The command line of each program, and the name of its calls.
_PROGRAMS = {
    "loop": (_INTERACTIVE, "train_step"),
    "Keras": ((*_INTERACTIVE, "--keras"), "one_step_on_iterator|multi_step_on_iterator|train_function"),
    "session": (("-m", "tests.support.monitored_training", "{logdir}"), "train"),
}
_TWO_TOWERS = {"two towers": (("-m", "tests.support.two_towers", "{logdir}"), "train")}
#: What is infinite or NaN first: ops beside each other finish in any order.
_FIRST = r"(±∞|[+−]∞|NaN) in .*(log_p|Log|Reciprocal|mul|truediv|RealDiv|Xdivy|div_no_nan).*"
#: The page may ask for an op that the tables do not have yet, and then asks again.
_NOT_YET = "/graphs/op_info|NOT FOUND"
#: When a program runs on, the page asks what it holds, and the program may have ended by then.
_TOO_LATE = "/live/tensors"
_WAIT_MS = 60_000


@contextmanager
def _paused(name: str, folder: Path, browser) -> Iterator[tuple[subprocess.Popen[str], DebuggerPage, str]]:
    """A program that waits where it begins, the page of it, and the address of its TensorBoard."""
    words, _ = {**_PROGRAMS, **_TWO_TOWERS}[name]
    logdir = folder / "logdir"
    command = [sys.executable, *(word.format(logdir=logdir) for word in words)]
    with (
        subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as program,
        tensorboard(folder, folder / "tensorboard.txt") as address,
    ):
        try:
            with open_page(browser, f"{address}/#debugger", width=1280, height=800) as page:
                bar = page.part("live-headline")
                expect(bar).to_have_text(re.compile("before (.*call 0|the first op)"), timeout=_WAIT_MS)
                yield program, page, address
                assert _complaints(page, _NOT_YET, _TOO_LATE) == []
        finally:
            program.kill()


def _complaints(page: DebuggerPage, *but: str) -> list[str]:
    return [text for text in page.complaints if not re.search("|".join(but), text)]


def _continue_until_bad(page: DebuggerPage) -> None:
    page.part("live-continue-more").click()
    page.part("continue-condition-preset").select_option(label="contains ±∞ or NaN")
    page.part("continue-until").click()
    expect(page.part("live-why")).to_have_text(re.compile(_FIRST), timeout=_WAIT_MS)


def _detach(program: subprocess.Popen[str], page: DebuggerPage) -> str:
    """Let the program run on; returns what it prints."""
    assert _complaints(page, _NOT_YET) == []
    page.part("live-detach").click()
    out, _ = program.communicate(timeout=60)
    assert program.returncode == 0
    return out


# `integration/live/test_joining.py` has the other programs without a page.
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name != "loop")) for name in _PROGRAMS]
)
def test_the_bug_is_found_by_going_on_until_a_tensor_is_bad(name, browser, tmp_path, keep_screenshot):
    with _paused(name, tmp_path, browser) as (program, page, address):
        _continue_until_bad(page)
        expect(page.part("live-headline")).to_contain_text(re.compile(_PROGRAMS[name][1]))
        assert program.poll() is None
        page.part("dock-tab-tensors").click()
        # The probabilities from which the bad value was computed are looked at while the program waits.
        row = page.part("live-tensor").filter(has_text=re.compile(r"(^|/|\s)(p|Softmax):0"))
        row.first.get_by_test_id("live-view").click()
        expect(page.part("value-head")).to_contain_text(re.compile(r"(p|Softmax):0"))
        expect(page.part("value-summary")).to_contain_text("24 elements")
        expect(page.part("value-summary")).to_contain_text(re.compile(r"\d+ 0"))
        if name == "loop":
            _keep_pictures(browser, address, page, keep_screenshot)
        assert "nan" in _detach(program, page)
    with tb_debugger_plugin.open_run(tmp_path, "logdir") as run:
        assert re.search("log|Log", str(run.why()))


def _keep_pictures(browser, address: str, page: DebuggerPage, keep_screenshot) -> None:
    """Keep the pictures of the guide; a second browser sees the same pause."""
    page.part("toast").get_by_role("button").click()
    keep_screenshot(page.page, "live-light")
    with open_page(browser, f"{address}/#debugger", width=1280, height=800, scheme="dark") as other:
        expect(other.part("live-why")).to_have_text(page.part("live-why").inner_text())
        other.click("dock-tab-tensors")
        row = other.part("live-tensor").filter(has_text=re.compile(r"(^|/|\s)p:0"))
        row.first.get_by_test_id("live-view").click()
        expect(other.part("value-summary")).to_contain_text("24 elements")
        other.part("toast").get_by_role("button").click()
        keep_screenshot(other.page, "live-dark")


@pytest.mark.long
def test_a_session_that_has_run_its_initialiser_stops_at_an_op_of_the_tree(browser, tmp_path):
    with _paused("two towers", tmp_path, browser) as (program, page, _):
        page.part("dock-tab-ops").click()
        page.part("filter-ops").fill("^user_tower/conv$")
        page.part("op-leaf").get_by_test_id("op-box").click()
        expect(page.part("op-leaf").get_by_test_id("op-box")).to_be_checked()
        page.part("live-continue").click()
        headline = page.part("live-headline")
        expect(headline).to_contain_text("user_tower/conv:0", timeout=_WAIT_MS)
        page.part("dock-tab-breakpoints").click()
        expect(page.page.get_by_text("No tensor of a graph fits")).to_have_count(0)
        page.part("live-continue").click()
        expect(headline).to_contain_text("(call 1)", timeout=_WAIT_MS)
        assert "loss" in _detach(program, page)


@pytest.mark.long
def test_a_value_is_changed_where_the_program_is_paused_and_the_bad_one_does_not_come(browser, tmp_path):
    with _paused("loop", tmp_path, browser) as (program, page, _):
        page.part("dock-tab-breakpoints").click()
        page.part("breakpoint-kind").select_option(label="an op")
        page.part("breakpoint-text").fill("p:0")
        page.part("breakpoint-condition-preset").select_option(label="other …")
        page.part("breakpoint-condition-text").fill("zero > 0")
        page.part("breakpoint-add").click()
        page.part("live-continue").click()
        expect(page.part("live-headline")).to_contain_text("p:0 in train_step (call 1)", timeout=_WAIT_MS)
        page.part("dock-tab-evaluate").click()
        page.part("live-change-kind").select_option(label="Set to the expression")
        page.part("live-change-text").fill("np.maximum(value, 1e-7)")
        page.part("live-change").click()
        expect(page.part("live-changed")).to_be_visible()
        page.part("live-stepOver").click()
        expect(page.part("live-headline")).to_contain_text("(call 2)", timeout=_WAIT_MS)
        expect(page.part("status-changed-values")).to_have_text("1 value changed")
        _detach(program, page)
    with tb_debugger_plugin.open_run(tmp_path, "logdir") as run:
        (change,) = run.changed_values()
        assert (change["op_name"], change["expression"]) == ("p", "np.maximum(value, 1e-7)")
        assert run.graph_executions()[change["graph_execution"]].op_name == "p"
        calls = [one for one in run.executions() if "train_step" in str(one.op_type)]
        bad = run.alerts()
        # Without the change, the call with the first 0 has bad values.
        assert bad and min(one.wall_time for one in bad) > calls[1].wall_time
