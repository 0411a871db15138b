"""`frontend/src/views/live/live_bar.tsx`: a program is stepped and stopped on the page.

The program is a script without TensorFlow that talks like a real one (`tests/support/live_program.py`).
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.support.debugger_page import DebuggerPage, each_window, page_on
from tests.support.events import small_program
from tests.support.live_page import check_that_nothing_can_be_commanded, headline, live_logdir, press
from tests.support.live_program import KINDS, LOSS, ScriptedProgram, served

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

#: V1's conditions, in its order, as the page names them.
THIRTEEN = (
    *("contains ±∞ or NaN", "contains ±∞", "contains NaN", "max > …", "max < …", "min > …", "min < …"),
    *("max − min > …", "max − min < …", "mean > …", "mean < …"),
    *("standard deviation > …", "standard deviation < …"),
)


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    recording = small_program(tmp_path_factory.mktemp("live") / "train", steps=12)
    with live_logdir(recording, tmp_path_factory.mktemp("log") / "tensorboard.txt") as live:
        yield live


def test_a_program_that_waits_is_stepped_by_keys_and_each_stop_is_focused_everywhere(opened):
    page, program = opened()
    expect(headline(page)).to_have_text("Live: Waiting for you before loss (call 0)")
    expect(page.part("source-line-focused")).to_contain_text("def loss(x):")
    press(page, "F11")
    expect(headline(page)).to_have_text("Live: Paused at x:0 in loss (call 0)")
    press(page, "F11")
    expect(headline(page)).to_have_text("Live: Paused at Log:0 in loss (call 0)")
    expect(page.part("live-why")).to_have_text("The next tensor is Log:0.")
    expect(page.part("graph-structure-op")).to_contain_text("Log")
    expect(page.part("source-line-focused")).to_contain_text("tf.math.log(x)")
    row = page.frame.locator("[data-testid=graph-executions-row][aria-selected=true]")
    expect(row).to_contain_text("45")  # the last time on record
    press(page, "F10")
    expect(headline(page)).to_have_text("Live: Paused before loss (call 1)")
    assert [command.WhichOneof("what") for command in program.commands] == ["step", "step", "step_over"]
    assert [command.pause_number for command in program.commands] == [1, 2, 3]
    expect(page.part("toast")).to_have_count(0)


def test_the_keys_are_shown_on_the_buttons_and_do_nothing_without_a_program(opened):
    page, _ = opened()
    keys = {"step": "F11", "stepOver": "F10", "stepOut": "Shift+F11", "continue": "F8"}
    for name, key in keys.items():
        button = page.part(f"live-{name}")
        expect(button.locator("kbd")).to_have_text(key)
        expect(button).to_have_attribute("aria-keyshortcuts", key)
    press(page, "F11")
    expect(page.part("op-breakpoint")).to_have_attribute("aria-keyshortcuts", "F9")
    page.part("live-stop").click()
    page.part("live-stop-now").click()
    expect(page.part("live-close")).to_be_visible()
    press(page, "F11")
    expect(page.part("toast")).to_have_count(0)


def test_step_out_goes_on_to_the_end_of_the_call_of_which_all_tensors_are_there(opened):
    page, program = opened()
    press(page, "F11")
    press(page, "Shift+F11")
    expect(headline(page)).to_have_text("Live: Paused after loss (call 0)")
    page.part("dock-tab-tensors").click()
    expect(page.part("live-tensor")).to_have_count(4)
    press(page, "F10")
    page.part("live-stepOut").click()
    expect(headline(page)).to_have_text("Live: Paused after loss (call 1)")
    assert [one.WhichOneof("what") for one in program.commands] == [
        *("step", "step_out", "step_over", "step_out")
    ]


def test_continue_goes_on_over_calls_five_by_default(opened):
    page, _ = opened()
    page.part("live-continue-more").click()
    calls = page.part("continue-calls")
    expect(calls).to_be_focused()
    expect(calls).to_have_value("5")
    calls.press("Enter")
    expect(headline(page)).to_have_text("Live: Paused before loss (call 5)")
    page.part("live-continue-more").click()
    page.part("continue-calls").fill("2")
    page.part("continue-over").click()
    expect(headline(page)).to_have_text("Live: Paused before loss (call 7)")


def test_continue_goes_on_until_a_condition_holds_for_any_tensor_with_a_toast(opened):
    page, program = opened()
    page.part("live-continue-more").click()
    preset = page.part("continue-condition-preset")
    assert tuple(preset.locator("option").all_inner_texts()) == (*THIRTEEN, "other …")
    expect(page.part("continue-condition-value")).to_have_count(0)
    preset.select_option(label="max > …")
    expect(page.part("continue-condition-value")).to_have_value("0")
    page.part("continue-condition-value").fill("high")
    expect(page.part("continue-until")).to_be_disabled()
    preset.select_option(label="contains NaN")
    page.part("continue-until").click()
    expect(headline(page)).to_have_text("Live: Paused at mul:0 in loss (call 0)")
    expect(page.part("toast")).to_have_text(re.compile(r"nan > 0: mul:0, train.py:3."))
    expect(page.part("toasts")).to_have_attribute("aria-live", "polite")
    expect(page.part("graph-structure-op")).to_contain_text("mul")
    assert program.commands[-1].continue_.condition == "nan > 0"
    page.part("toast").get_by_role("button", name="Dismiss").click()
    expect(page.part("toast")).to_have_count(0)


def test_a_running_program_is_paused_and_detached(opened):
    page, _ = opened()
    press(page, "F8")
    expect(headline(page)).to_have_text(re.compile("^Live: Running"))
    expect(page.part("live-step")).to_have_attribute("aria-disabled", "true")
    page.part("live-pause").click()
    expect(headline(page)).to_have_text(re.compile("^Live: Paused"))
    expect(page.part("live-pause")).to_have_attribute("title", "The program is paused already.")
    page.part("live-detach").click()
    expect(headline(page)).to_have_text("Live: Detached: the program runs on and does not stop again")


def test_nothing_moves_for_those_who_do_not_want_it(opened):
    page, _ = opened()
    press(page, "F8")
    expect(headline(page)).to_have_text(re.compile("^Live: Running"))
    moving = "document.getAnimations().length"
    assert page.frame.evaluate(moving) > 0  # a dot pulses
    page.page.emulate_media(reduced_motion="reduce")
    assert page.frame.evaluate(moving) == 0


def test_stop_asks_back_and_the_end_is_told_until_it_is_closed(opened):
    page, program = opened()
    page.part("live-stop").click()
    page.page.keyboard.press("Escape")
    expect(page.part("live-stop-now")).to_have_count(0)
    expect(page.part("live-stop")).to_be_focused()
    assert program.commands == []
    page.part("live-stop").click()
    page.part("live-stop-now").click()
    expect(headline(page)).to_have_text("Live: The program has ended")
    page.part("live-close").click()
    expect(page.part("live-bar")).to_have_count(0)
    expect(page.part("live-open")).to_be_visible()


def _add(page: DebuggerPage, kind: str, text: str | None = None) -> None:
    page.part("breakpoint-kind").select_option(label=kind)
    if text is not None:
        page.part("breakpoint-text").fill(text)
    page.part("breakpoint-add").click()


@pytest.mark.long
def test_breakpoints_of_each_kind_are_added_and_say_where_they_are(opened):
    page, program = opened()
    page.part("dock-tab-breakpoints").click()
    expect(page.part("breakpoints")).to_contain_text("No breakpoints yet.")
    for kind, text, expected in (
        ("an op", "Log:0", "Log:0"),
        ("ops of a type", "Mul", "ops of type Mul"),
        ("a layer", "dense", "in layer dense"),
        ("names", "^Me", "named ^Me"),
        ("a function", "loss", "in loss"),
        ("a line", "/home/me/train.py:3", "train.py:3"),
        ("calls", "", "calls"),
        ("any NaN", None, "any tensor if it contains NaN"),
    ):
        _add(page, kind, text)
        expect(page.part("breakpoint").last).to_contain_text(re.sub(" if .*", "", expected))
    rows = page.part("breakpoint")
    expect(rows).to_have_count(8)
    expect(rows.last).to_contain_text("if it contains NaN")
    expect(page.part("dock-tab-breakpoints")).to_have_text("Breakpoints8")
    expect(rows.nth(4)).to_contain_text("at 4 tensors")
    _add(page, "an op", "Nowhere")
    expect(rows.last).to_contain_text("No tensor of the program fits it.")
    assert page.serious_violations() == []
    assert len(program.state().breakpoints) == 9


def test_a_breakpoint_has_a_condition_counts_its_hits_and_is_switched_off(opened):
    page, program = opened()
    page.part("dock-tab-breakpoints").click()
    _add(page, "an op", "mul")
    row = page.part("breakpoint")
    page.part("breakpoint-edit").click()
    assert page.part("edit-preset").locator("option").all_inner_texts()[1:-1] == list(THIRTEEN)
    page.part("edit-preset").select_option(label="other …")
    page.part("edit-text").fill("what?")
    page.part("edit-save").click()
    expect(page.part("edit-failure")).to_contain_text("'what?' is no condition")
    page.part("edit-text").fill("nan > 0 and size < 9")
    page.part("edit-ignore").fill("2")
    page.part("edit-save").click()
    expect(page.part("edit-text")).to_have_count(0)
    expect(row).to_contain_text("if nan > 0 and size < 9")
    expect(page.part("breakpoint-counts")).to_contain_text("lets 2 pass")
    press(page, "F8")
    expect(headline(page)).to_have_text("Live: Paused at mul:0 in loss (call 2)")
    expect(page.part("breakpoint-counts")).to_contain_text("3 hits")
    expect(row).to_have_class(re.compile("breakpoint-hit"))
    page.part("breakpoint-on").uncheck()
    press(page, "F8")
    expect(headline(page)).to_have_text(re.compile("^Live: Running"))
    assert not program.state().breakpoints[0].enabled
    page.part("breakpoint-remove").click()
    expect(row).to_have_count(0)


def test_a_breakpoint_may_have_a_condition_on_the_step_and_on_elements(opened):
    page, program = opened()
    page.part("dock-tab-breakpoints").click()
    _add(page, "an op", "mul")
    page.part("breakpoint-edit").click()
    page.part("edit-preset").select_option(label="other …")
    page.part("edit-text").fill("call >= 3 and nan > 0")
    page.part("edit-save").click()
    expect(page.part("breakpoint")).to_contain_text("if call >= 3 and nan > 0")
    press(page, "F8")
    expect(headline(page)).to_have_text("Live: Paused at mul:0 in loss (call 3)")
    page.part("breakpoint-edit").click()
    page.part("edit-text").fill("value[0, 1] < -5")
    page.part("edit-save").click()
    expect(page.part("breakpoint")).to_contain_text("if value[0, 1] < -5")
    page.part("breakpoint-edit").click()
    page.part("edit-text").fill("value[0, 1")
    page.part("edit-save").click()
    expect(page.part("edit-failure")).not_to_be_empty()
    assert program.state().breakpoints[0].condition == "value[0, 1] < -5"


def test_a_breakpoint_at_calls_may_have_a_condition_on_the_step_and_the_call(opened):
    page, program = opened()
    page.part("dock-tab-breakpoints").click()
    page.part("breakpoint-condition-preset").select_option(label="contains NaN")
    page.part("breakpoint-kind").select_option(label="calls")
    choices = page.part("breakpoint-condition-preset").locator("option")
    expect(choices).to_have_text(["always", "condition …"])  # calls have no numbers of tensors
    page.part("breakpoint-condition-preset").select_option(label="condition …")
    page.part("breakpoint-condition-text").fill("call % 2 == 1")
    page.part("breakpoint-add").click()
    expect(page.part("breakpoint")).to_contain_text("if call % 2 == 1")
    page.part("breakpoint-edit").click()
    page.part("edit-text").fill("call % 2 == 0")
    page.part("edit-save").click()
    expect(page.part("breakpoint")).to_contain_text("if call % 2 == 0")
    assert [one.condition for one in program.state().breakpoints] == ["call % 2 == 0"]


def test_a_log_point_lists_its_hits_and_the_program_runs_on(opened):
    page, program = opened()
    page.part("dock-tab-breakpoints").click()
    page.part("breakpoint-log").check()
    _add(page, "an op", "Log")
    page.part("breakpoint-log").uncheck()
    expect(page.part("breakpoint")).to_contain_text("No hit is logged yet.")
    _add(page, "an op", "Mean")
    press(page, "F8")
    expect(headline(page)).to_have_text("Live: Paused at Mean:0 in loss (call 0)")
    press(page, "F8")
    expect(headline(page)).to_have_text("Live: Paused at Mean:0 in loss (call 1)")
    hits = page.part("logged-hit")
    expect(hits).to_have_count(2)
    expect(hits.first).to_contain_text("Log:0")
    expect(hits.first.get_by_role("cell").nth(1)).to_have_text("1")
    expect(hits.first).to_contain_text("1 −∞")
    assert [one.log_only for one in program.state().breakpoints] == [True, False]
    assert page.serious_violations() == []


def test_a_click_beside_a_line_sets_a_breakpoint_and_f9_removes_it(opened):
    page, program = opened()
    gutter = page.frame.locator(".cm-break-gutter .cm-gutterElement")
    expect(page.part("source-break-possible")).to_have_attribute(
        "title", "4 ops: Log, mul, Mean, x · ran 24 ops and functions from Python"
    )
    gutter.filter(has=page.part("source-break-possible")).click()
    expect(page.part("source-break-on")).to_have_attribute("title", re.compile("^train.py:3 · 4 ops"))
    (one,) = program.state().breakpoints
    assert (one.where.path, one.where.line, one.num_tensors) == ("/home/me/train.py", 3, 4)
    press(page, "F8")
    expect(headline(page)).to_have_text("Live: Paused at x:0 in loss (call 0)")
    page.frame.locator(".cm-content").click(position={"x": 60, "y": 9})
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("F9")
    expect(page.part("source-break-on")).to_have_count(0)
    page.page.keyboard.press("ArrowUp")
    page.page.keyboard.press("F9")
    expect(page.part("source-break-problem")).to_have_attribute("title", re.compile("No tensor"))
    assert program.state().breakpoints[0].where.line == 2


def test_an_op_of_the_graph_gets_a_breakpoint_and_is_run_to_from_its_menu(opened):
    page, program = opened()
    press(page, "F11")
    expect(page.part("graph-structure-op")).to_contain_text("Placeholder")
    mul = page.part("graph-structure-consumer").filter(has_text="mul")
    mul.click(button="right")
    menu = page.part("op-menu")
    expect(menu.get_by_role("menuitem").first).to_be_focused()
    assert page.serious_violations() == []
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("Enter")  # Continue to here
    expect(menu).to_have_count(0)
    expect(headline(page)).to_have_text("Live: Paused at mul:0 in loss (call 0)")
    expect(page.part("graph-structure-op")).to_contain_text("mul")
    page.part("op-breakpoint").click()
    expect(page.part("op-breakpoint")).to_have_attribute("aria-pressed", "true")
    where = program.state().breakpoints[0].where
    assert (where.op_name, where.slot, where.function_regex) == ("mul", -1, "loss")
    press(page, "F9")
    expect(page.part("op-breakpoint")).to_have_attribute("aria-pressed", "false")
    page.part("graph-structure-input").filter(has_text="Log").click(button="right")
    menu.get_by_role("menuitem", name="Add a breakpoint").click()
    page.part("graph-structure-input").filter(has_text="Log").focus()
    page.page.keyboard.press("Shift+F10")
    expect(menu.get_by_role("menuitem", name="Remove the breakpoint")).to_be_focused()
    menu.get_by_role("menuitem", name="Focus").click()
    expect(page.part("graph-structure-op")).to_contain_text("−∞")


def test_a_hit_does_not_take_the_keyboard_from_a_reader_who_types(opened):
    page, _ = opened()
    search = page.part("search")
    search.click()
    page.page.keyboard.type("Me")
    page.page.keyboard.press("F11")
    expect(headline(page)).to_have_text("Live: Paused at x:0 in loss (call 0)")
    expect(page.part("graph-structure-op")).to_contain_text("Placeholder")
    page.page.keyboard.type("an")
    expect(search).to_be_focused()
    expect(search).to_have_value("Mean")


def test_a_read_only_program_is_shown_and_takes_no_commands(opened):
    page, program = opened(program={"read_only": True})
    expect(page.part("live-read-only")).to_have_text("read-only")
    check_that_nothing_can_be_commanded(page, "The program is read-only: it takes no commands.")
    assert program.commands == []


@pytest.mark.long
def test_a_lost_connection_is_told_and_comes_back_by_itself(opened):
    page, _ = opened()
    page.frame  # noqa: B018 - waits until the page has settled
    page.page.context.set_offline(True)
    press(page, "F11")
    expect(page.part("live-problem")).to_contain_text("TensorBoard does not answer.")
    expect(page.part("live-bar")).to_have_class(re.compile("live-unreachable"))
    page.page.context.set_offline(False)
    expect(page.part("live-problem")).to_have_count(0, timeout=40_000)
    press(page, "F11")
    expect(headline(page)).to_have_text(re.compile("^Live: Paused at"))
    page.complaints.clear()  # of the lost connection


def test_one_of_several_programs_is_in_focus_and_each_is_stepped_for_itself(opened, live):
    page, first = opened()
    with live.program(folder="second", name="other") as second:
        chooser = page.part("live-programs")
        expect(chooser).to_be_visible()
        options = chooser.locator("option").all_inner_texts()
        assert len(options) == 2 and all("train.py" in option for option in options)
        # Both programs are in one process, so their texts are the same.
        chosen = chooser.evaluate("element => element.selectedIndex")
        expect(headline(page)).to_contain_text("before")
        shown = "other" if "other" in headline(page).inner_text() else "loss"
        chooser.select_option(index=1 - chosen)
        there = "loss" if shown == "other" else "other"
        expect(headline(page)).to_have_text(f"Live: Waiting for you before {there} (call 0)")
        press(page, "F10")
        expect(headline(page)).to_have_text(f"Live: Paused before {there} (call 1)")
        moved, still = (first, second) if there == "loss" else (second, first)
        assert (len(moved.commands), len(still.commands)) == (1, 0)


@pytest.mark.long
def test_without_a_program_the_page_is_as_before_and_says_how_one_is_joined(browser, tmp_path):
    train = small_program(tmp_path / "logs" / "train").close()
    with page_on(browser, train.parent, scheme="dark") as page:
        page.await_first_cause()
        assert page.frame.locator(".sections").bounding_box()["y"] - _top(page) == 28
        expect(page.part("live-bar")).to_have_count(0)
        expect(page.part("dock-tab-breakpoints")).to_have_count(0)
        expect(page.frame.locator(".cm-break-gutter")).to_have_count(0)
        expect(page.part("op-breakpoint")).to_have_count(0)
        page.part("live-open").click()
        card = page.part("start-card")
        for text in ("--interactive", "enable_breakpoints(", "DebuggerCallback(", "TensorBoardDebugHook("):
            expect(card).to_contain_text(text)
        assert page.serious_violations() == []
        page.page.keyboard.press("Escape")
        expect(card).to_have_count(0)
        page.part("live-open").click()
        with served(ScriptedProgram(), train):
            expect(page.part("live-bar")).to_be_visible()
            expect(card).to_have_count(0)


def test_a_program_without_a_recording_is_stepped_all_the_same(browser, tmp_path):
    logdir = tmp_path / "logs"
    with served(ScriptedProgram(), logdir / "new"), page_on(browser, logdir) as page:
        expect(page.frame.locator(".hint")).to_contain_text("Nothing is recorded yet.")
        press(page, "F11")
        expect(headline(page)).to_have_text("Live: Paused at x:0 in loss (call 0)")
        assert page.serious_violations() == []


def _top(page: DebuggerPage) -> float:
    return page.frame.locator("html").bounding_box()["y"]


@each_window
def test_the_page_of_a_program_is_accessible_and_nothing_is_cut(
    opened, keep_screenshot, scheme, width, height
):
    page, _ = opened(program={"ops": (*LOSS, *KINDS)}, scheme=scheme, width=width, height=height)
    page.part("dock-tab-breakpoints").click()
    _add(page, "an op", "Mean")
    page.part("breakpoint-edit").click()
    page.part("edit-preset").select_option(label="mean > …")
    page.part("edit-value").fill("10")
    page.part("edit-save").click()
    _add(page, "a line", "/home/me/train.py:2")
    _add(page, "any NaN")
    expect(page.part("breakpoint")).to_have_count(3)
    press(page, "F8")
    expect(headline(page)).to_have_text("Live: Paused at mul:0 in loss (call 0)")
    expect(page.part("graph-structure-op")).to_contain_text("mul")
    assert page.serious_violations() == []
    bar = page.part("live-bar").bounding_box()
    for name in ("live-step", "live-stop", "live-headline"):
        box = page.part(name).bounding_box()
        assert box["x"] >= bar["x"] and box["x"] + box["width"] <= bar["x"] + bar["width"]
    page.part("dock-tab-breakpoints").press("ArrowLeft")
    expect(page.part("dock-tab-gradients")).to_be_focused()
    page.part("dock-tab-gradients").press("ArrowRight")
    page.part("live-continue-more").click()
    assert page.serious_violations() == []
    box = page.frame.get_by_role("dialog").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= width
    page.page.keyboard.press("Escape")
    expect(page.part("breakpoint")).to_have_count(3)
    if (scheme, width) == ("light", 1280):
        keep_screenshot(page.page, "breakpoints-light")
