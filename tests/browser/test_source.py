"""`frontend/src/views/source`: marks beside lines, their ops, all files, and the search in them."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.support.debugger_page import page_on
from tests.support.events import Recording, full_health

pytestmark = pytest.mark.browser

CELL = "/jupyter/ipykernel_26533/1570506886.py"
BODY = """
    def loss(self, x):
        logits = self.dense(x)
        y = tf.math.log(tf.nn.softmax(logits))
        return -tf.reduce_mean(y)

    def step(self, x):
        with tf.GradientTape() as tape:
            value = self.loss(x)
        return tape.gradient(value, self.trainable_variables)
"""
MODEL = ["import tensorflow as tf", *[""] * 36, *BODY.splitlines(), *[""] * 42, "# the end of the logarithm"]


@pytest.fixture
def logdir(tmp_path):
    """A finished recording of a notebook and a file, line 41 of which makes a NaN."""
    folder = tmp_path / "logdir"
    with Recording(folder) as recording:
        recording.source(CELL, ["for _ in range(3): loss(x)", "loss(x)"])
        recording.source("/home/me/model.py", MODEL)
        recording.source("/usr/lib/python3/site-packages/keras/src/ops/math.py", ["def log(x): ..."])
        recording.frame("cell", 0, 1, "<module>")
        recording.frame("log", 1, 41, "loss")
        recording.frame("mean", 1, 42, "loss")
        recording.graph("g1", "loss")
        recording.op("g1", "x", "Placeholder", ids=[10], stack=["cell"])
        recording.op("g1", "Log", "Log", ["x:0"], ids=[11], stack=["cell", "log"])
        recording.op("g1", "Neg", "Neg", ["x:0"], ids=[12], stack=["cell", "log"])
        recording.op("g1", "Mean", "Mean", ["Neg:0"], ids=[13], stack=["cell", "mean"])
        for step in range(3):
            recording.step = step
            recording.trace("g1", "x", full_health([1.0], 10))
            recording.trace("g1", "Log", full_health([float("nan")], 11))
            recording.trace("g1", "Neg", full_health([-1.0], 12))
            recording.trace("g1", "Mean", full_health([-1.0], 13))
            recording.execution(
                "__inference_loss_7", [full_health([1.0])], graph_id="g1", ids=[step], stack=["cell"]
            )
    return folder


def _mark(page, line):
    return page.frame.locator(f".cm-made[title^='line {line}:']")


@pytest.mark.long
def test_a_click_on_a_mark_lists_the_ops_of_the_line_and_filters_the_list(browser, logdir, keep_screenshot):
    with page_on(browser, logdir) as page:
        expect(_mark(page, 41)).to_be_visible()
        expect(_mark(page, 41)).to_have_text("▲2")
        expect(_mark(page, 42)).to_have_text("●1")
        expect(_mark(page, 41)).to_have_attribute(
            "title", re.compile("2 ops with 6 tensors, 3 of them with NaN")
        )
        listed = page.part("list-tab-graph_executions").locator(".list-count")
        expect(listed).to_have_text("12")
        _mark(page, 41).click()
        expect(page.part("filter-chip")).to_have_text(re.compile("file:model.py:41"))
        expect(listed).to_have_text("6 of 12")
        expect(page.part("line-op")).to_have_text(
            [re.compile("Log.*3 of 3 NaN"), re.compile("Neg.*0 of 3 NaN")]
        )
        assert page.serious_violations() == []
        keep_screenshot(page.frame.locator("section.source"), "source-light")
        page.part("line-op").nth(1).click()
        expect(page.part("graph-structure-op")).to_contain_text("Neg")
        expect(page.part("line-op").nth(1)).to_have_attribute("aria-current", "true")
        page.click("line-ops-close")
        expect(page.part("line-ops")).to_have_count(0)
        expect(listed).to_have_text("12")


@pytest.mark.long
def test_the_keyboard_goes_from_mark_to_mark_and_lists_ops(browser, logdir):
    with page_on(browser, logdir) as page:
        expect(_mark(page, 41)).to_be_visible()
        code = page.frame.get_by_role("textbox", name="Source code")
        code.focus()
        code.press("Alt+ArrowDown")
        expect(page.part("source-cursor")).to_have_text(re.compile("^line 42: 1 op with 3 tensors"))
        code.press("Alt+ArrowUp")
        code.press("Enter")
        expect(page.part("line-ops")).to_contain_text("model.py:41")
        expect(_mark(page, 41)).to_have_class(re.compile("cm-made-listed"))
        code.press("Enter")
        expect(page.part("line-ops")).to_have_count(0)
        code.press("Enter")
        page.part("line-op").first.focus()
        page.part("line-op").first.press("ArrowDown")
        expect(page.part("line-op").nth(1)).to_be_focused()
        page.part("line-op").nth(1).press("Escape")
        expect(page.part("line-ops")).to_have_count(0)
        expect(code).to_be_focused()


@pytest.mark.long
def test_text_is_found_in_the_file_also_where_it_is_not_drawn(browser, logdir):
    with page_on(browser, logdir) as page:
        expect(_mark(page, 41)).to_be_visible()
        page.frame.get_by_role("textbox", name="Source code").press("Control+f")
        field = page.part("find-in-file")
        expect(field).to_be_focused()
        field.fill("log")
        expect(page.part("find-count")).to_have_text("2 of 4")
        expect(page.frame.locator(".cm-found-active")).to_have_text("log")
        field.press("Enter")
        field.press("Enter")
        expect(page.part("find-count")).to_have_text("4 of 4")
        expect(page.frame.locator(".cm-line", has_text="the end of the logarithm")).to_be_visible()
        field.press("Escape")
        expect(page.part("find-in-file")).to_have_count(0)
        expect(page.frame.locator(".cm-found")).to_have_count(0)


@pytest.mark.long
def test_all_files_are_listed_with_counts_and_searched(browser, logdir):
    with page_on(browser, logdir) as page:
        expect(_mark(page, 41)).to_be_visible()
        page.click("all-files")
        files = page.part("source-file")
        expect(files).to_have_text(
            [
                re.compile("▲model.py.*3 NaN/∞ 3 ops"),
                re.compile(r"●cell 1.*1 op$"),
                re.compile(r"·math.py.*math.py$"),
            ]
        )
        field = page.part("find-in-files")
        expect(field).to_be_focused()
        field.fill("LOG")
        expect(files).to_have_count(0)
        expect(page.part("found-line")).to_have_text(
            [
                re.compile(r"model.py:40\s*logits ="),
                re.compile(r"model.py:41\s*y = tf.math.log"),
                re.compile("model.py:90.*logarithm"),
                re.compile("math.py:1"),
            ]
        )
        assert page.serious_violations() == []
        field.press("ArrowDown")
        page.part("found-line").first.press("ArrowDown")
        page.part("found-line").nth(1).press("End")
        page.part("found-line").nth(3).press("ArrowUp")
        page.part("found-line").nth(2).press("Enter")
        expect(page.part("source-path")).to_have_text("/home/me/model.py")
        expect(page.part("source-line-focused")).to_have_text("# the end of the logarithm")
        expect(page.frame.get_by_role("textbox", name="Source code")).to_be_focused()


@pytest.mark.long
def test_a_line_opens_in_an_editor_only_if_the_reader_wants_that(browser, logdir):
    with page_on(browser, logdir) as page:
        expect(_mark(page, 41)).to_be_visible()
        expect(page.part("find-button")).to_be_visible()
        expect(page.part("open-in-editor")).to_have_count(0)
        page.click("all-files")
        page.part("editor-links").check()
        page.click("all-files")
        expect(page.part("open-in-editor")).to_have_attribute("href", "vscode://file/home/me/model.py:41")
        page.page.reload()
        expect(_mark(page, 41)).to_be_visible()
        expect(page.part("open-in-editor")).to_have_attribute("href", "vscode://file/home/me/model.py:41")
        page.click("all-files")
        page.part("source-file").nth(1).click()
        expect(page.part("source-path")).to_have_text("cell 1 of the notebook")
        expect(page.part("open-in-editor")).to_have_count(0)
