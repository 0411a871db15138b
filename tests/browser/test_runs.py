"""`frontend/src/views/runs`: the list of runs opens, compares and keeps a note; the title follows the run."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.server.judge import JUDGE_VARIABLE
from tests.support.asking import Asker
from tests.support.debugger_page import each_window, page_on
from tests.support.events import PATIENCE_S, Recording, full_health, small_program

pytestmark = pytest.mark.browser

_MODE = TensorDebugMode.FULL_HEALTH
_RECORDER = {"recorder_version": "0.1.0", "mode": _MODE, "tensor_debug_mode": _MODE}
_NOTE = "The loss explodes after the warm-up.\nTry a smaller rate."


@pytest.fixture
def logdir(tmp_path, monkeypatch):
    """Four runs that nobody writes any more; those of the sweep are judged, and nothing else is."""
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(JUDGE_VARIABLE, "0")
    logs, now = tmp_path / "logs", time.time()
    small_program(logs / "sweep" / "rate0.1", run_id="a", start=now - 900, **_RECORDER).close()
    _healthy(logs / "sweep" / "rate0.01", now - 800, run_id="b")
    for number in range(3):
        host = {"host": f"worker{number}", "run_id": "c"}
        _healthy(logs / "distributed" / f"worker{number}", now - 9000 + number, **host)
    small_program(logs / "stock", run_id="d", start=now - 700).close()
    for path in filter(Path.is_file, logs.rglob("*")):
        age = {"rate0.1": 860, "rate0.01": 500, "stock": 400_000}.get(path.parent.name, 8000)
        os.utime(path, (now - age, now - age))
    _judge(logs, "sweep/rate0.1", "sweep/rate0.01")
    return logs


def _healthy(folder, start, **options):
    with Recording(folder, start=start, **_RECORDER, **options) as recording:
        recording.graph("g1", "loss")
        recording.op("g1", "Log", "Log", ids=[11])
        recording.trace("g1", "Log", full_health([1.0], 11))
        recording.execution("__inference_loss_7", [full_health([1.0])], graph_id="g1", ids=[1])
        recording.counts(1, 1, finished=True)


def _judge(logs, *names):
    with Asker(logs) as asker:
        for name in names:
            assert asker.plugin._viewer.run_library.loader(name).wait(PATIENCE_S)
            asker.json("/verdict", {"run": name})


def _write_note(logs, name):
    with Asker(logs) as asker:
        assert asker.post("/note/write", {"run": name, "note": _NOTE}).status_code == 200


def _names(page):
    return page.part("runs-row").locator(".run-name").all_inner_texts()


@pytest.mark.long
def test_the_page_opens_the_worst_of_the_newest_judged_runs_and_lists_all(browser, logdir, keep_screenshot):
    _write_note(logdir, "sweep/rate0.1")
    with page_on(browser, logdir, width=1280, height=560) as page:
        expect(page.part("run")).to_have_text("✗ sweep/rate0.1")
        page.click("run")
        expect(page.part("runs-search")).to_be_focused()
        expect(page.part("note")).to_have_value(_NOTE)
        keep_screenshot(page.page, "runs-light")
        assert _names(page) == ["sweep/rate0.01", "sweep/rate0.1", "distributed", "stock"]
        bad, many = (page.part("runs-row").filter(has_text=name) for name in ("rate0.1", "distributed"))
        expect(bad).to_contain_text("✗ bad values · First bad value: Log in loss, train.py:3")
        expect(bad).to_contain_text("FULL_HEALTH")
        expect(bad).to_contain_text("14 min ago")
        expect(bad).to_have_attribute("aria-current", "true")
        expect(many).to_contain_text("not judged yet")
        expect(many.locator("td").nth(5)).to_have_text("3")
        page.part("runs").get_by_role("button", name="size").click()
        expect(page.part("runs").get_by_role("columnheader", name="size")).to_have_attribute(
            "aria-sort", "descending"
        )
        expect(page.part("runs-row").last).to_contain_text("rate0.01")
        page.part("runs-search").fill("bad full")
        expect(page.part("runs-row")).to_have_count(1)
        expect(page.part("runs")).to_contain_text("1 of 4 runs")


@pytest.mark.long
def test_a_run_is_opened_by_keys_alone(browser, logdir):
    with page_on(browser, logdir) as page:
        page.part("run").press("Enter")
        expect(page.part("runs-search")).to_be_focused()
        page.page.keyboard.press("ArrowDown")
        page.page.keyboard.press("ArrowDown")
        expect(page.part("runs-row").nth(1).locator(".run-name")).to_be_focused()
        page.page.keyboard.press("End")
        page.page.keyboard.press("Enter")
        expect(page.part("runs")).to_have_count(0)
        expect(page.part("run")).to_contain_text("stock")
        expect(page.part("run")).to_be_focused()
        page.part("run").press("Enter")
        page.part("runs-search").fill("0.01")
        page.page.keyboard.press("Enter")
        expect(page.part("run")).to_have_text("✓ sweep/rate0.01")
        page.part("run").press("Enter")
        expect(page.part("runs-search")).to_be_focused()
        page.page.keyboard.press("Escape")
        expect(page.part("runs")).to_have_count(0)
        expect(page.part("run")).to_be_focused()


@pytest.mark.long
def test_two_ticked_runs_are_compared(browser, logdir):
    with page_on(browser, logdir, "/#debugger&p.debugger.run=distributed") as page:
        page.click("run")
        expect(page.part("runs-compare")).to_be_disabled()
        for name in ("sweep/rate0.1", "stock"):
            page.frame.get_by_label(f"Compare {name}", exact=True).check()
        page.click("runs-compare")
        expect(page.part("comparison-aligned")).to_contain_text("sweep/rate0.1 and stock")
        expect(page.part("run")).to_contain_text("sweep/rate0.1")


@pytest.mark.long
def test_the_title_of_the_window_says_run_and_verdict_while_the_tab_is_shown(browser, logdir):
    link = "/#debugger&p.debugger.run=sweep%2Frate0.1"
    with page_on(browser, logdir, link, in_tensorboard=True) as page:
        assert page.frame
        title = "✗ sweep/rate0.1 · First bad value: Log in loss, train.py:3 · Debugger"
        expect(page.page).to_have_title(title)
        assert page.frame.evaluate("document.title") == title
        frame = page.page.locator("iframe[src*='plugin_entry.html?name=debugger']")
        frame.evaluate("frame => { frame.style.display = 'none'; }")
        expect(page.page).to_have_title("TensorBoard")
        frame.evaluate("frame => { frame.style.display = ''; }")
        expect(page.page).to_have_title(title)


@pytest.mark.long
def test_a_note_is_kept_and_is_in_the_report_that_the_page_saves(browser, logdir):
    with page_on(browser, logdir) as page:
        page.click("run")
        page.part("note").fill(_NOTE)
        page.page.keyboard.press("Escape")
        page.click("run")
        expect(page.part("note")).to_have_value(_NOTE)
        expect(page.part("note-status")).to_contain_text("Not saved yet")
        page.click("note-save")
        expect(page.part("note-status")).to_contain_text("Saved in tbdbg_note.")
        (path,) = logdir.rglob("tbdbg_note*")
        assert (path.parent.name, path.read_text("utf-8")) == ("rate0.1", f"{_NOTE}\n")
        for form, words in (("html", "Try a smaller rate."), ("markdown", "> Try a smaller rate.")):
            assert words in _saved(page, f"report-{form}").read_text("utf-8")
        rows = _saved(page, "export-graph_executions-csv").read_text("utf-8").splitlines()
        assert rows[0].startswith("index,wall_time,") and len(rows) == 9
        page.part("runs-row").filter(has_text="distributed").click()
        page.click("run")
        expect(page.part("note")).to_have_value("")


def _saved(page, name):
    with page.page.expect_download() as download:
        page.part(name).click()
    return download.value.path()


def test_a_viewer_that_is_read_only_shows_the_note_and_says_why_it_stays(browser, logdir, monkeypatch):
    monkeypatch.setenv("TB_DEBUGGER_READ_ONLY", "1")
    with page_on(browser, logdir) as page:
        page.click("run")
        expect(page.part("note")).not_to_be_editable()
        expect(page.part("note-save")).to_be_disabled()
        expect(page.part("note-status")).to_contain_text("This viewer is read-only")


@each_window
def test_nothing_is_wider_than_the_window_and_axe_finds_nothing(browser, logdir, scheme, width, height):
    with page_on(browser, logdir, scheme=scheme, width=width, height=height) as page:
        page.click("run")
        expect(page.part("note")).to_be_visible()
        page.part("runs-row").nth(1).hover()
        assert page.serious_violations() == []
        assert page.frame.evaluate("document.documentElement.scrollWidth") <= width
        box = page.part("runs").bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width
