"""`frontend/src/views`: each section answers the mouse and the keyboard, and shows what changes on disk."""

from __future__ import annotations

import math
import shutil
import time
from contextlib import closing

import pytest
from playwright.sync_api import expect

from tests.support.debugger_page import open_page, page_on
from tests.support.events import full_health, small_program
from tests.support.programs import record_example
from tests.support.serving import tensorboard

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow]

_LIVE_MS = 15_000
#: Inputs of one call.
_INPUTS = 300


@pytest.fixture
def page(browser, example_address):
    """The example's page as it opens."""
    with open_page(browser, example_address) as page:
        yield page


@pytest.mark.long
def test_a_click_on_an_execution_shows_its_card_and_the_arrow_keys_walk_on(page):
    box = page.part("timeline-box").nth(3)
    index = int(box.get_attribute("data-index"))
    box.click()
    expect(page.part("execution-card")).to_have_attribute("data-index", str(index))
    expect(page.part("stack-frame").first).to_contain_text("buggy_digits.py")
    page.page.keyboard.press("ArrowRight")
    expect(page.part("execution-card")).to_have_attribute("data-index", str(index + 1))


@pytest.mark.long
def test_a_call_with_nan_inside_and_a_good_output_is_marked(browser, tmp_path):
    with closing(small_program(tmp_path / "run", steps=0)) as recording:
        recording.execution("Fill", [full_health([1.0])], ids=[1])
        recording.trace("g1", "Log", full_health([[-math.inf, 0.0]], 11))
        recording.execution("__inference_loss_7", [full_health(1.0)], graph_id="g1", ids=[2])
    with page_on(browser, tmp_path) as page:
        boxes = page.part("timeline-box")
        expect(boxes).to_have_count(2)
        expect(boxes.nth(0)).not_to_contain_class("box-inner-bad")
        expect(boxes.nth(1)).to_contain_class("box-inner-bad")
        expect(boxes.nth(1)).to_have_attribute("title", "#1 function loss, NaN or ∞ inside")


@pytest.mark.long
def test_of_very_many_inputs_those_in_view_are_drawn(browser, tmp_path):
    with closing(small_program(tmp_path / "run", steps=0)) as recording:
        for number in range(_INPUTS):
            recording.execution("Fill", [full_health([1.0])], ids=[100 + number])
        ids = [100 + number for number in range(_INPUTS)]
        recording.execution("__inference_loss_7", [full_health(1.0)], graph_id="g1", ids=[2], inputs=ids)
    with page_on(browser, tmp_path, f"#debugger&p.debugger.execution={_INPUTS}") as page:
        rows = page.frame.get_by_role("table", name="Inputs").get_by_role("row")
        last = rows.filter(has_text=f"#{_INPUTS - 1} Fill:0")
        expect(rows.nth(1)).to_contain_text("#0 Fill:0")
        assert rows.count() < _INPUTS / 2
        scroller = page.frame.locator(".card-tables")
        height = scroller.evaluate("(it) => it.scrollHeight")
        scroller.evaluate("(it) => it.scrollTo(0, it.scrollHeight)")
        expect(last).to_be_in_viewport()
        assert rows.count() < _INPUTS / 2 and scroller.evaluate("(it) => it.scrollHeight") == height
        last.get_by_role("button").click()
        expect(page.part("execution-card")).to_have_attribute("data-index", str(_INPUTS - 1))


def test_the_picture_of_an_op_stays_until_that_of_the_next_one_is_there(page):
    page.await_first_cause()
    frame, held = page.frame, []
    row = page.part("graph-executions-row").filter(has_text="labels:0").first
    frame.evaluate("() => { window.before = document.querySelector('.picture'); }")
    page.page.route("**/graphs/op_info?*", lambda route: held.append(route))
    row.click()
    expect(row).to_have_attribute("aria-selected", "true")
    assert frame.evaluate("() => window.before === document.querySelector('.picture')")
    held[0].continue_()
    expect(page.part("graph-structure-op")).to_contain_text("labels")
    assert frame.evaluate("() => window.before !== document.querySelector('.picture')")


def test_a_click_on_a_graph_tensor_brings_its_op(page):
    page.await_first_cause()
    row = page.part("graph-executions-row").filter(has_text="labels:0").first
    row.click()
    expect(page.part("graph-structure-op")).to_contain_text("labels")


def test_a_click_on_an_input_walks_to_it(page):
    page.await_first_cause()
    page.click("graph-structure-input")
    expect(page.part("graph-structure-op")).to_contain_text("probs")


def test_a_click_on_a_frame_shows_its_line(page):
    page.await_first_cause()
    page.part("stack-frame").filter(has_text="train").first.click()
    expect(page.part("source-line-focused")).to_contain_text("loss = cross_entropy(")


def test_the_link_in_the_answer_leads_to_the_line(page):
    page.await_first_cause()
    page.part("timeline-box").nth(3).click()
    page.part("first-bad").get_by_test_id("phrase-link").last.click()
    expect(page.part("source-line-focused")).to_contain_text("tf.math.log(probs)")
    expect(page.frame.locator(".alerts .position")).to_contain_text(" of ")


def test_a_rule_is_a_button_that_shows_only_its_alerts(page):
    rule = page.part("alert-type-InfNanAlert")
    expect(rule).to_have_attribute("aria-pressed", "false")
    rule.click()
    expect(rule).to_have_attribute("aria-pressed", "true")
    expect(page.frame.locator(".alert-row").first).to_contain_text("−∞")
    page.page.reload()
    expect(page.part("alert-type-InfNanAlert")).to_have_attribute("aria-pressed", "true")
    page.click("alert-type-InfNanAlert")
    expect(page.part("alert-type-InfNanAlert")).to_have_attribute("aria-pressed", "false")


@pytest.mark.parametrize("width", [390, 1024, 1600])
def test_nothing_is_wider_than_the_window(browser, example_address, width):
    with open_page(browser, example_address, width=width) as page:
        page.await_first_cause()
        assert page.frame.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("width", "height"), [(400, 900), (720, 450)])  # 720: 1440 with text at 200 %
def test_a_narrow_window_opens_at_its_top(browser, example_address, width, height):
    with open_page(browser, example_address, width=width, height=height) as page:
        page.await_first_cause()
        expect(page.part("source-line-focused")).to_contain_text("tf.math.log(probs)")
        expect(page.part("chain-strip")).to_be_visible()
        assert page.frame.evaluate("document.querySelector('.app').scrollTop") == 0
        expect(page.part("first-bad")).to_be_in_viewport()


def test_the_parts_of_the_alerts_give_way_to_each_other(browser, example_address):
    with open_page(browser, example_address) as page:
        page.await_first_cause()
        for name in ("alert-groups", "rules"):
            page.part(name).locator("summary").click()
            expect(page.part(name)).to_have_attribute("open", "")
        page.part("rules").get_by_text("Exploding").scroll_into_view_if_needed()
        panel = page.frame.get_by_role("region", name="Alerts")
        expect(panel.get_by_role("heading", name="Alerts")).to_be_in_viewport()
        assert panel.evaluate("panel => panel.scrollHeight - panel.clientHeight") <= 1


@pytest.mark.long
def test_what_scrolls_in_a_card_without_a_link_takes_the_keyboard(browser, tmp_path):
    with closing(small_program(tmp_path / "run", steps=0)) as recording:
        recording.execution("Split", [full_health([1.0])] * 12, ids=list(range(100, 112)))
    with page_on(browser, tmp_path) as page:
        page.show_recording()
        page.part("timeline-box").first.click()
        tables = page.frame.get_by_role("region", name="Inputs and outputs")
        assert tables.evaluate("tables => tables.scrollHeight > tables.clientHeight")
        assert tables.get_by_role("button").count() == 0
        assert page.serious_violations() == []


_CELLS_OUTSIDE_THEIR_ROW = """rows => rows.flatMap(row => {
  const place = row.getBoundingClientRect();
  return [...row.children].filter(cell => {
    const { top, bottom, height } = cell.getBoundingClientRect();
    return height > 0 && (top < place.top - 1 || bottom > place.bottom + 1);
  }).map(cell => cell.textContent);
})"""


@pytest.mark.parametrize("width", [1024, 1600])
def test_the_cells_of_a_tensor_stand_in_one_row(browser, example_address, width):
    with open_page(browser, example_address, width=width) as page:
        page.await_first_cause()
        rows = page.part("graph-executions-row")
        expect(rows.filter(has_text="Log:0").first).to_be_visible()
        assert rows.evaluate_all(_CELLS_OUTSIDE_THEIR_ROW) == []


def test_the_list_of_executions_opens_at_the_call_in_focus(page):
    page.await_first_cause()
    page.click("list-tab-executions")
    chosen = page.frame.locator("[data-testid=executions-row][aria-selected=true]")
    expect(chosen).to_be_in_viewport()
    index = page.part("execution-card").get_attribute("data-index")
    assert chosen.get_attribute("id") == f"execution-{index}"


@pytest.mark.long
def test_a_page_that_was_opened_first_fills_when_the_program_runs(browser, tmp_path):
    logdir = tmp_path / "logdir"
    logdir.mkdir()
    with page_on(browser, logdir, "/#debugger") as page:
        expect(page.frame.locator("body")).to_contain_text("enable_dump_debug_info(")
        record_example(logdir, "--steps", "2")
        expect(page.part("alert-type-InfNanAlert")).to_be_visible(timeout=_LIVE_MS)


@pytest.mark.long
def test_what_a_program_records_comes_by_itself_until_it_has_ended(browser, tmp_path):
    logdir = tmp_path / "digits"
    with (
        closing(small_program(logdir, start=time.time(), recorder_version="0.1.0")) as recording,
        tensorboard(logdir, tmp_path / "tensorboard.txt") as address,
        open_page(browser, address) as page,
    ):
        bar = page.frame.locator(".status")
        expect(bar).to_contain_text("digits live4 executions")
        recording.execution("Fill", [full_health([1.0])], ids=[99])
        expect(bar).to_contain_text("digits live5 executions", timeout=_LIVE_MS)
        recording.counts(5, 8, finished=True)
        expect(bar).to_contain_text("digits finished5 executions", timeout=_LIVE_MS)


def _finished(folder):
    """Write a run that has ended."""
    recording = small_program(folder, recorder_version="0.1.0")
    recording.counts(4, 8, finished=True)
    recording.close()


def _let_it_settle(page):
    """Let the page see that nothing comes any more."""
    for _ in range(4):
        page.page.clock.fast_forward(30_000)
        assert page.frame  # has its answers


@pytest.mark.long
def test_of_a_finished_run_only_is_asked_whether_there_are_others_until_it_begins_anew(browser, tmp_path):
    _finished(tmp_path / "digits")
    with page_on(browser, tmp_path, stopped_clock=True, in_tensorboard=True) as page:
        bar = page.frame.locator(".status")
        expect(bar).to_contain_text("digits finished4 executions")
        _let_it_settle(page)
        asked: list[str] = []
        page.page.on("request", lambda request: asked.append(request.url))
        page.page.clock.run_for(60_000)
        assert page.frame
        ours = [url for url in asked if "plugin/debugger" in url]
        assert {url.partition("plugin/debugger/")[2] for url in ours} <= {"runs", "logdir"}
        assert len(ours) <= 8
        shutil.rmtree(tmp_path / "digits")
        small_program(tmp_path / "digits", steps=3).close()
        page.page.locator(".reload-button").click()
        expect(bar).to_contain_text("digits recorded6 executions", timeout=_LIVE_MS)


@pytest.mark.long
def test_a_run_that_comes_while_a_finished_one_is_on_screen_is_listed_by_itself(browser, tmp_path):
    _finished(tmp_path / "first")
    with page_on(browser, tmp_path, stopped_clock=True) as page:
        expect(page.frame.locator(".status")).to_contain_text("first finished")
        _let_it_settle(page)
        small_program(tmp_path / "second", start=2000.0).close()
        page.click("run")
        rows = page.part("runs-row")
        for _ in range(20):
            page.page.clock.run_for(15_000)
            if rows.count() > 1:
                break
            page.page.wait_for_timeout(500)
        expect(rows.filter(has_text="first")).to_contain_text("✗ bad values")
        expect(rows.filter(has_text="second")).to_contain_text("not judged yet")
        expect(page.part("run")).to_have_text("✗ first")


@pytest.mark.long
def test_keys_work_as_soon_as_the_tab_is_there(browser, example_address):
    with open_page(browser, example_address, in_tensorboard=True) as page:
        assert page.frame
        alerts = page.frame.get_by_role("region", name="Alerts")
        expect(alerts).to_contain_text("1 of ")
        page.page.keyboard.press("n")
        expect(alerts).to_contain_text("2 of ")
        page.page.keyboard.press("/")
        expect(page.part("search")).to_be_focused()


def _choose_another_tab_and_this_one(page):
    """Do as the host does."""
    frame = page.page.locator("iframe[src*='plugin_entry.html?name=debugger']")
    for display in ("none", ""):
        frame.evaluate("(frame, display) => { frame.style.display = display; }", display)
        page.page.wait_for_function("() => new Promise(done => requestAnimationFrame(() => done(true)))")


@pytest.mark.long
def test_a_field_of_tensorboard_keeps_the_focus(browser, tmp_path):
    small_program(tmp_path / "run").close()
    with page_on(browser, tmp_path, in_tensorboard=True) as page:
        assert page.frame
        page.page.evaluate(
            """() => {
                const field = document.createElement("input");
                field.id = "field";
                document.body.append(field);
                field.focus();
            }"""
        )
        expect(page.page.locator("#field")).to_be_focused()
        _choose_another_tab_and_this_one(page)
        expect(page.page.locator("#field")).to_be_focused()
        page.page.evaluate("document.querySelector('#field').remove()")
        _choose_another_tab_and_this_one(page)
        page.page.wait_for_function("document.activeElement?.tagName === 'IFRAME'")


@pytest.mark.long
def test_a_damaged_file_is_named_and_the_rest_is_shown(browser, example_logdir, tmp_path):
    logdir = tmp_path / "logdir"
    shutil.copytree(example_logdir, logdir)
    (traces,) = logdir.glob("*.graph_execution_traces")
    content = bytearray(traces.read_bytes())
    content[len(content) // 2] ^= 0xFF
    traces.write_bytes(content)
    with page_on(browser, logdir) as page:
        expect(page.frame.locator("body")).to_contain_text("graph_execution_traces at byte ")
        expect(page.part("alert-type-InfNanAlert")).to_be_visible()
