"""`analysis/report`: a report is one bounded file that fetches nothing, whatever names a recording has."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tb_debugger_plugin.cli.main import main
from tests.support.events import Recording, full_health, small_program
from tests.support.numerics import training

_HOSTILE = '"><script>alert(1)</script><img src=http://evil.example/x>`@root|[x](http://e.example)\x1b[2J'
_MEGABYTE = 1 << 20


class _Page(HTMLParser):
    """Collects the elements of a page and what they would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.fetched: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.fetched += [(name, value) for name, value in attrs if name in ("src", "href", "action", "data")]


def _hostile(folder: Path, *, steps: int = 3, lines: int = 1) -> Path:
    recording = Recording(folder)
    recording.source(f"/home/{_HOSTILE}.py", [_HOSTILE * 40] * lines)
    recording.frame("f", 0, 1, _HOSTILE)
    recording.graph("g", _HOSTILE)
    recording.op("g", "x", "Placeholder", ids=[0], stack=["f"])
    recording.op("g", _HOSTILE, "Log", ["x:0"], ids=[1], stack=["f"])
    for _ in range(steps):
        recording.trace("g", "x", full_health([0.0, 1.0]))
        recording.trace("g", _HOSTILE, full_health([-math.inf, 0.0]))
    return recording.close()


def _report(logdir: Path, *options: str) -> str:
    file = logdir.parent / "report.out"
    assert main(["report", str(logdir), "-o", str(file), *options]) == 0
    return file.read_text("utf-8")


def _page(text: str) -> _Page:
    page = _Page()
    page.feed(text)
    return page


def test_a_report_has_the_origin_its_chain_its_lines_and_the_alerts(tmp_path):
    small_program(tmp_path / "run").close()
    text = _report(tmp_path / "run")
    assert "<b>Origin of ∞:</b> Log in loss, train.py:3" in text
    assert "the logarithm of 0 is −∞" in text
    assert "<b>    3    return tf.math.log(x)</b>" in text
    assert "<h2>From the value that shows it back to its birth</h2>" in text
    assert re.search(r"<td>Log:0<br>.*<svg .*<rect ", text)
    assert re.search(r"<td>NaN/∞</td><td>\d+</td>", text)


def test_names_of_a_recording_are_text_in_the_page(tmp_path):
    _hostile(tmp_path / "run")
    text = _report(tmp_path / "run")
    page = _page(text)
    assert not page.tags & {"script", "img", "link", "iframe", "a"}
    assert page.fetched == []
    assert "\x1b" not in text and "&lt;script&gt;" in text


def test_names_of_a_recording_are_text_in_markdown(tmp_path):
    _hostile(tmp_path / "run")
    text = _report(tmp_path / "run", "--format", "markdown")
    outside = "".join(re.split(r"^(`{3,})\n.*?^\1\n", text, flags=re.DOTALL | re.MULTILINE)[::2])
    assert re.search(r"[^\\]<script", outside) is None
    assert "@root" not in outside and "http://" not in outside and "\x1b" not in text


def test_a_line_with_a_fence_stays_in_its_block(tmp_path):
    recording = Recording(tmp_path / "run")
    recording.source("/a.py", ["x = 1 # ````", "</pre><b>"])
    recording.frame("f", 0, 1, "main")
    recording.graph("g", "step")
    recording.op("g", "c", "Log", ids=[0], stack=["f"])
    recording.trace("g", "c", full_health([math.nan]))
    recording.close()
    text = _report(tmp_path / "run", "--format", "markdown")
    assert re.search(r"^`````$.*x = 1 # ````.*^`````$", text, re.DOTALL | re.MULTILINE)


def test_a_report_stays_small_however_long_the_run_and_its_lines_are(tmp_path):
    _hostile(tmp_path / "run", steps=5000, lines=3000)
    assert len(_report(tmp_path / "run").encode()) < _MEGABYTE


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_a_run_without_bad_values_says_so(tmp_path, form):
    training(tmp_path / "run", [{"Relu": [1.0, 2.0]}] * 4).close()
    said = _report(tmp_path / "run", "--format", form)
    assert "No NaN and no infinity in what was recorded so far. All that so far is on record was" in said


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_a_report_counts_what_rules_find_above_low(tmp_path, form):
    training(tmp_path / "run", [{"Relu": [0.0, 0.0], "gradient_tape/out": [0.0]}] * 4).close()
    said = _report(tmp_path / "run", "--format", form)
    assert "Alert rules found 2 alerts above low. The most urgent one is Dead ReLU" in said


def test_without_a_file_the_report_is_printed(tmp_path, tbdbg):
    small_program(tmp_path / "run").close()
    assert tbdbg("report", tmp_path / "run", "--format", "markdown").startswith("### run\n")


def test_a_file_that_cannot_be_written_is_an_error_with_a_sentence(tmp_path, tbdbg):
    small_program(tmp_path / "run").close()
    assert "cannot be written" in tbdbg.error("report", tmp_path / "run", "-o", tmp_path / "no" / "file")
