"""`frontend/src/views/timeline`: rows by thread, zooming to single ones, bad ones, a range for the lists."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.support.debugger_page import page_on
from tests.support.events import Recording, full_health

pytestmark = pytest.mark.browser

STEPS = 300
BAD_STEP = 170


def training(logdir):
    """Writes a training of many steps that computes one NaN."""
    with Recording(logdir) as recording:
        recording.thread(0, "MainThread")
        recording.graph("g1", "loss")
        recording.op("g1", "x", "Placeholder", ids=[10])
        recording.op("g1", "Log", "Log", ["x:0"], ids=[11])
        for step in range(STEPS):
            recording.step = step
            for _ in range(5):
                recording.trace("g1", "x", full_health([1.0], 10))
            is_bad = step == BAD_STEP
            recording.trace("g1", "Log", full_health([float("nan") if is_bad else 1.0], 11))
            recording.execution("__inference_loss_7", [full_health([1.0])], graph_id="g1", ids=[step])


@pytest.fixture
def opened(browser, tmp_path):
    training(tmp_path / "logdir")
    with page_on(browser, tmp_path / "logdir") as page:
        page.part("dock-tab-timeline").click()
        expect(page.part("run-timeline")).not_to_contain_text("Loading")
        yield page


def test_the_only_bad_tensor_is_found_and_opened_by_keys(opened):
    plot, words = opened.part("timeline-canvas"), opened.part("timeline-words")
    plot.focus()
    plot.press("b")
    expect(words).to_contain_text("NaN")
    plot.press("ArrowDown")
    plot.press("b")
    expect(words).to_contain_text("1 of them bad")
    plot.press("Enter")
    opened.part("dock-tab-recording").click()
    expect(opened.part("graph-structure-op")).to_contain_text("1 NaN")


def test_zooming_shows_single_rows_by_name_and_a_click_focuses_them(opened):
    plot, words = opened.part("timeline-canvas"), opened.part("timeline-words")
    opened.part("timeline-axis").select_option("sequence")
    expect(opened.part("run-timeline")).not_to_contain_text("Loading")
    plot.focus()
    plot.press("b")
    for _ in range(12):
        plot.press("w")
    middle = plot.bounding_box()["width"] / 2
    plot.hover(position={"x": middle, "y": 30})
    expect(opened.part("timeline-card")).to_contain_text("call")
    expect(words).to_contain_text(f"#{BAD_STEP} loss")
    plot.press("ArrowDown")
    expect(opened.part("timeline-card")).to_contain_text("tensor of the op type")
    plot.click(position={"x": middle, "y": 30})
    opened.part("dock-tab-recording").click()
    expect(opened.frame.locator(f"#box-{BAD_STEP}")).to_have_attribute("aria-selected", "true")


def test_a_range_filters_the_lists_until_all_rows_are_shown(opened):
    plot = opened.part("timeline-canvas")
    box = plot.bounding_box()
    mouse = opened.page.mouse
    opened.page.keyboard.down("Shift")
    mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
    mouse.down()
    mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 40, steps=4)
    mouse.up()
    opened.page.keyboard.up("Shift")
    opened.part("timeline-range").get_by_text("Show the lists").click()
    listed = opened.part("list-tab-graph_executions").locator(".list-count")
    expect(listed).to_contain_text(" of 1,800")
    opened.part("dock-tab-timeline").click()
    opened.part("timeline-range").get_by_text("Show all rows").click()
    opened.part("dock-tab-recording").click()
    expect(listed).to_have_text("1,800")


def test_the_timeline_has_no_trouble_for_screen_readers(opened):
    assert opened.serious_violations() == []


@pytest.mark.long
def test_ops_that_tensorflow_timed_are_on_a_track_of_their_device(browser, tmp_path):
    device = "/job:localhost/replica:0/task:0/device:CPU:0"
    with Recording(tmp_path / "logdir") as recording:
        recording.graph("g1", "loss")
        recording.op("g1", "Log", "Log", ids=[10])
        begin = recording.now
        recording.trace("g1", "Log", full_health([float("nan")]))
        recording.now = begin + 1
        run = recording.session_run_event(1)
        run.session_run.begin_time = begin
        recording.writer.write("session_runs", run)
        recording.op_times(1, device, [("Log", int(begin * 1e6), 250_000, 500_000, 600_000)])
    with page_on(browser, tmp_path / "logdir") as page:
        page.part("dock-tab-timeline").click()
        plot, words = page.part("timeline-canvas"), page.part("timeline-words")
        expect(page.part("run-timeline")).not_to_contain_text("Loading")
        plot.focus()
        for _ in range(4):
            plot.press("ArrowDown")
        expect(words).to_contain_text(
            "op of the type Log, as TensorFlow timed it, NaN or ∞ in what it computed"
        )
        expect(words).to_contain_text("at 250.0 ms, for 500.0 ms")
        whole = page.frame.get_by_role("slider", name="Part of the run that is seen")
        expect(whole).to_have_attribute("aria-valuetext", "0 s to 1.001 s")
        plot.press("Enter")
        page.part("dock-tab-recording").click()
        expect(page.part("graph-structure-op")).to_contain_text("1 NaN")
