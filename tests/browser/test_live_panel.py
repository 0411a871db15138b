"""`frontend/src/views/live/panels.tsx`: tensors, ops, calls, curves and expressions of a program that runs.

The program is a script without TensorFlow that talks like a real one (`tests/support/live_program.py`).
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

from tests.support.checkout import ROOT
from tests.support.debugger_page import DebuggerPage, each_window
from tests.support.events import small_program
from tests.support.live_page import headline, live_logdir, press
from tests.support.live_program import KINDS, LOSS, Op

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

_MANY = 3000


def _steps(values: dict[str, object], call: int) -> object:
    return np.arange(12, dtype=np.float32).reshape(3, 4) + call


#: A program with a matrix that changes with each call.
MOVING = (Op("x", "Placeholder", _steps), *LOSS[1:])


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    recording = small_program(tmp_path_factory.mktemp("live") / "train", steps=3)
    for i in range(200):
        scope, kind = f"tower/block_{i // 50}", "Relu" if i % 2 else "MatMul"
        recording.op("g1", f"{scope}/op_{i}", kind, layer=f"tower/{i // 50}")
    for name, kind in {op.name: op.type for op in KINDS}.items():
        recording.op("g1", name, kind)
    with live_logdir(recording, tmp_path_factory.mktemp("log") / "tensorboard.txt") as live:
        yield live


def steps(page: DebuggerPage, *names: str) -> None:
    """Step to each of some tensors."""
    for name in names:
        press(page, "F11")
        expect(headline(page)).to_contain_text(f"Paused at {name}")
    page.frame  # noqa: B018 - waits until the page has settled


def rows(page: DebuggerPage) -> Locator:
    return page.part("live-tensor")


def row(page: DebuggerPage, name: str) -> Locator:
    return rows(page).filter(has_text=name)


def test_the_tensors_of_the_call_are_listed_as_they_are_computed(opened):
    page, _ = opened("tensors")
    expect(page.part("dock-tensors")).to_contain_text("No tensor was computed yet")
    steps(page, "x:0", "Log:0", "mul:0")
    expect(rows(page)).to_have_count(3)
    cells = row(page, "Log:0").get_by_role("gridcell")
    expect(cells.nth(0)).to_contain_text("dense")  # the layer
    for place, text in enumerate(("1", "float32", "[1, 2]", "[[-inf, 0.0]]"), 1):
        expect(cells.nth(place)).to_have_text(text)
    expect(cells.nth(6)).to_have_text("train.py:3")
    expect(page.part("live-tensor").and_(page.frame.locator("[aria-current=step]"))).to_contain_text("mul:0")
    expect(page.part("live-tensors-note")).to_have_text(
        re.compile(r"loss \(call 0\) · 3 tensors · \d+ B held")
    )


def test_the_health_bar_has_the_kinds_and_says_all_numbers(opened):
    page, _ = opened("tensors")
    steps(page, "x:0", "Log:0")
    health = row(page, "Log:0").get_by_test_id("live-health")
    expect(health.locator(".bar i")).to_have_count(2)
    expect(health).to_have_attribute(
        "title", "CPU:0 · float32 [1, 2] · 2 values · 1 −∞, 1 0 · min 0 · max 0 · mean 0 · stddev 0"
    )


def test_a_loop_counts_how_often_a_tensor_was_computed_and_big_values_are_a_click_away(opened):
    page, _ = opened("tensors", program={"ops": KINDS})
    steps(page, "big:0", "while/Mul:0", "while/Mul:0", "while/Mul:0")
    counts = [rows(page).nth(i).get_by_role("gridcell").nth(1).inner_text() for i in range(4)]
    assert counts == ["1", "1", "2", "3"]
    expect(rows(page).nth(0).get_by_test_id("live-view")).to_have_text("view")
    page.part("filter-tensors").fill("^while")
    expect(rows(page)).to_have_count(3)
    page.frame.get_by_label("Filter tensors by").select_option(label="Type")
    page.part("filter-tensors").fill("conv")
    expect(rows(page)).to_have_count(1)
    page.part("filter-tensors").fill("(")
    expect(page.part("dock-tensors")).to_contain_text("no regular expression")


def test_a_row_has_a_breakpoint_a_curve_and_a_way_to_continue_to_it(opened):
    page, program = opened("tensors")
    steps(page, "x:0", "Log:0")
    row(page, "Log:0").get_by_test_id("live-break").click()
    expect(row(page, "Log:0").get_by_test_id("live-break")).to_have_attribute("aria-pressed", "true")
    row(page, "Log:0").get_by_test_id("live-watch").click()
    expect(row(page, "Log:0").get_by_test_id("live-watch")).to_have_attribute("aria-pressed", "true")
    state = program.state()
    assert [(one.where.op_name, one.where.slot) for one in (*state.breakpoints, *state.watched)] == [
        ("Log", 0)
    ] * 2
    row(page, "Log:0").get_by_test_id("live-break").click()
    row(page, "x:0").get_by_test_id("live-continue-to").click()
    expect(headline(page)).to_have_text("Live: Paused at x:0 in loss (call 1)")
    expect(rows(page)).to_have_count(1)


def test_the_list_is_walked_and_used_by_keys(opened):
    page, program = opened("tensors")
    steps(page, "x:0", "Log:0", "mul:0")
    listed = page.frame.get_by_role("grid", name="Tensors of the call")
    listed.press("ArrowUp")
    expect(row(page, "Log:0")).to_have_attribute("aria-selected", "true")
    expect(page.part("graph-structure-op")).to_contain_text("Log")
    listed.press("b")
    expect(row(page, "Log:0").get_by_test_id("live-break")).to_have_attribute("aria-pressed", "true")
    listed.press("w")
    expect(row(page, "Log:0").get_by_test_id("live-watch")).to_have_attribute("aria-pressed", "true")
    listed.press("v")
    expect(page.part("value-head")).to_contain_text("Log:0")
    page.page.keyboard.press("Escape")
    expect(page.part("value-view")).to_have_count(0)
    listed.press("c")
    expect(headline(page)).to_have_text("Live: Paused at Log:0 in loss (call 1)")
    assert [one.where.op_name for one in program.state().breakpoints] == ["Log"]


@pytest.mark.long
def test_thousands_of_tensors_are_listed_where_they_are_seen(opened):
    many = tuple(
        Op(f"op_{i}", "Relu", lambda values, call: np.ones(2, np.float32), graph_id="") for i in range(_MANY)
    )
    page, _ = opened("tensors", program={"ops": many})
    page.click("dock-tab-breakpoints")
    page.part("breakpoint-kind").select_option(label="an op")
    page.part("breakpoint-text").fill(many[-1].name)
    page.part("breakpoint-add").click()
    page.click("dock-tab-tensors")
    press(page, "F8")
    expect(page.part("live-tensor").and_(page.frame.locator("[aria-current=step]"))).to_contain_text(
        f"op_{_MANY - 1}:0"
    )
    expect(page.part("dock-tab-tensors")).to_have_text(f"Tensors{_MANY}")
    assert rows(page).count() < 60
    page.part("filter-tensors").fill("^op_17$|^op_2999:")
    expect(rows(page)).to_have_count(1)
    page.complaints.clear()  # of ops that are not on record


def test_values_that_the_limit_cost_are_told(opened):
    page, program = opened("tensors")
    steps(page, "x:0", "Log:0")
    program.drop_values(1)
    expect(page.part("live-dropped")).to_have_text(re.compile("1 value dropped"))
    expect(row(page, "x:0").get_by_test_id("live-view")).to_have_count(0)
    expect(row(page, "x:0")).to_contain_text("[[0.0, 1.0]]")


@pytest.mark.long
def test_a_value_is_read_from_the_program_follows_it_and_has_a_history(opened):
    page, program = opened("tensors", program={"ops": MOVING})
    steps(page, "x:0")
    row(page, "x:0").get_by_test_id("live-view").click()
    expect(page.part("value-head")).to_contain_text("x:0")
    expect(page.part("live-value-call")).to_have_text("call 0")
    page.click("value-tab-table")
    expect(page.part("value-element").first).to_have_text("0.0")
    page.part("value-element").nth(1).click()
    where = page.page.url
    press(page, "F10")
    expect(headline(page)).to_have_text("Live: Paused before loss (call 1)")
    expect(page.part("value-missing")).to_contain_text("computed in call 0")
    steps(page, "x:0")
    expect(page.part("live-value-call")).to_have_text("call 1")
    expect(page.part("value-element").first).to_have_text("1.0")
    expect(page.part("live-history")).to_be_visible()
    expect(page.part("value-occurrence")).to_have_text("2 of 2")
    page.frame.get_by_label("Earlier occurrence").click()
    expect(page.part("value-missing")).to_contain_text("computed in call 0")
    expect(page.part("value-missing")).to_contain_text("11")  # positive elements
    page.click("live-follow")
    expect(page.part("value-element").first).to_have_text("1.0")
    assert f"value=l{program.state().pause.tensor.number}." in page.page.url != where
    page.page.reload()
    expect(page.part("value-head")).to_contain_text("x:0")


def test_the_tree_of_ops_sets_breakpoints_for_ops_and_scopes(opened):
    page, program = opened("ops")
    expect(page.part("op-group").filter(has_text="loss")).to_be_visible()
    page.part("filter-ops").fill("^Log$")
    page.part("op-leaf").get_by_test_id("op-box").click()
    expect(page.part("op-leaf").get_by_test_id("op-box")).to_be_checked()
    page.part("filter-ops").fill("")
    group = page.part("op-group").filter(has_text="loss").get_by_test_id("op-box")
    assert group.evaluate("box => [box.indeterminate, box.checked]") == [True, False]
    assert "stops at a part of it" in group.get_attribute("aria-label")
    page.part("op-group").filter(has_text="tower").click()
    page.part("op-group").filter(has_text="block_2").get_by_test_id("op-box").click()
    expect(page.part("op-group").filter(has_text="block_2").get_by_test_id("op-box")).to_be_checked()
    wheres = [(one.where.op_name, one.where.name_regex) for one in program.state().breakpoints]
    assert wheres == [("Log", ""), ("", "^tower/block_2/")]
    page.part("op-group").filter(has_text="block_2").click()
    leaf = page.part("op-leaf").filter(has_text="op_100")
    leaf.get_by_test_id("op-box").click()
    expect(page.part("dock-ops")).to_contain_text("Breakpoint 2 is broader than this")
    page.part("op-group").filter(has_text="block_2").get_by_test_id("op-box").click()
    expect(leaf.get_by_test_id("op-box")).not_to_be_checked()
    assert len(program.state().breakpoints) == 1


def test_the_tree_is_walked_by_keys_and_grouped_by_layer_and_device(opened):
    page, program = opened("ops")
    tree = page.frame.get_by_role("treegrid", name="Ops of the program")
    page.part("ops-grouping").select_option(label="Layer")
    expect(page.part("op-group").filter(has_text="tower")).to_be_visible()
    tree.focus()
    for key in ("Home", "ArrowRight", "ArrowDown", "ArrowDown"):
        tree.press(key)
    expect(page.frame.locator(".lp-op-focused")).to_contain_text("tower")
    tree.press("ArrowRight")
    expect(page.part("op-group").filter(has_text=re.compile("^▸?0"))).to_have_count(1)
    tree.press(" ")
    expect(page.frame.locator(".lp-op-focused").get_by_test_id("op-box")).to_be_checked()
    assert [one.where.layer_regex for one in program.state().breakpoints] == ["^tower(/|$)"]
    page.part("ops-grouping").select_option(label="Device")
    expect(page.part("op-group").first).to_contain_text("CPU:0")


def test_a_click_on_an_op_of_the_tree_goes_to_it(opened):
    page, _ = opened("ops")
    page.part("filter-ops").fill("^mul$")
    page.part("op-leaf").click()
    expect(page.part("graph-structure-op")).to_contain_text("mul")


def test_the_calls_are_counted_and_their_names_lead_to_what_they_name(opened):
    page, program = opened("calls")
    call = page.part("live-call")
    expect(call).to_have_attribute("aria-current", "step")
    expect(call).to_contain_text("x: float32 [1, 2]")
    expect(call).to_contain_text("CPU:0")
    program.run_calls(4)
    expect(call.locator("td").last).to_have_text("5")
    call.get_by_role("button", name="x: float32").click()
    expect(page.part("graph-structure-op")).to_contain_text("Placeholder")


def test_threads_are_listed_where_there_are_several(opened):
    page, _ = opened("calls", program={"threads": ("worker-0", "worker-1", "worker-2")})
    steps(page, "x:0")
    expect(page.part("live-headline")).to_contain_text("Paused at x:0 in loss (call 0) · worker-0")
    page.click("dock-tab-calls")
    expect(page.part("live-threads").locator("tbody tr")).to_have_text(
        [
            re.compile("worker-0loss.*stopped here"),
            re.compile("worker-1.*waits"),
            re.compile("worker-2.*waits"),
        ]
    )


def test_the_stack_of_the_paused_thread_and_of_others_leads_to_the_source(opened):
    page, _ = opened("calls", program={"threads": ("worker-0", "worker-1")})
    steps(page, "x:0")
    page.click("dock-tab-calls")
    lines = page.part("live-stack-line")
    expect(lines).to_have_text(["train.py:3loss", "train.py:2main"])
    expect(page.part("live-thread").first).to_contain_text("x:0")
    page.part("live-threads").get_by_role("button", name="worker-1").click()
    expect(lines).to_have_text(["train.py:5work"])
    page.part("live-threads").get_by_role("button", name="worker-0").click()
    lines.last.get_by_role("button").click()
    expect(page.part("source-line-focused")).to_contain_text("def loss(x):")
    assert page.serious_violations() == []


def test_watched_tensors_are_drawn_while_the_program_runs(opened):
    page, program = opened("tensors", program={"ops": MOVING})
    steps(page, "x:0")
    row(page, "x:0").get_by_test_id("live-watch").click()
    page.click("dock-tab-curves")
    program.run_calls(20)
    picture = page.part("live-curve")
    expect(picture).to_have_attribute("aria-label", re.compile(r"^mean\. x:0 in loss: .* at \d+ points"))
    expect(page.part("live-watched")).to_contain_text("last 24.5")
    page.part("curve-number").select_option(label="max − min")
    expect(picture).to_have_attribute("aria-label", re.compile(r"^max − min\. x:0 in loss: 11 to 11 at"))
    page.click("live-unwatch")
    expect(page.part("dock-curves")).to_contain_text("No tensor is watched.")
    assert len(program.state().watched) == 0


def _ask(page: DebuggerPage, expression: str) -> None:
    page.part("live-expression").fill(expression)
    page.part("live-expression").press("Enter")


def test_an_expression_is_evaluated_and_its_result_opened(opened):
    page, _ = opened("evaluate")
    steps(page, "x:0", "Log:0")
    _ask(page, "np.sum(`x:0`) + 2")
    expect(page.part("live-result").first).to_contain_text("3.0")
    _ask(page, "`nobody:0`")
    expect(page.part("live-result").first.get_by_role("alert")).to_contain_text("There is no tensor nobody:0")
    expect(page.part("live-result")).to_have_count(2)
    _ask(page, "np.arange(6).reshape(2, 3)")
    page.part("live-result-view").first.click()
    page.click("value-tab-table")
    expect(page.part("value-element").last).to_have_text("5")
    page.part("live-expression").press("ArrowUp")
    page.part("live-expression").press("ArrowUp")
    expect(page.part("live-expression")).to_have_value("`nobody:0`")


@pytest.mark.long
def test_watch_expressions_are_evaluated_at_each_pause_and_kept(opened):
    page, _ = opened("evaluate", program={"ops": MOVING})
    for expression in ("np.max(`x:0`)", "`Log:0` * 2"):
        page.part("live-expression").fill(expression)
        page.part("live-watch-add").click()
    watched = page.part("watch-expression")
    expect(watched.nth(1)).to_contain_text("There is no tensor Log:0")
    steps(page, "x:0")
    expect(watched.first.locator("pre")).to_have_text("11.0")
    expect(watched.first).to_contain_text("float32 []")
    expect(watched.first).to_contain_text("finite")
    steps(page, "Log:0")
    expect(watched.nth(1)).to_contain_text("−∞")
    press(page, "F10")
    press(page, "F11")
    expect(watched.first.locator("pre")).to_have_text("12.0")
    watched.nth(1).get_by_label("Forget `Log:0` * 2").click()
    expect(watched).to_have_count(1)
    assert page.serious_violations() == []
    page.page.reload()
    page.part("dock-tab-evaluate").click()
    expect(page.part("watch-expression")).to_contain_text("np.max(`x:0`)")


@pytest.mark.long
def test_the_value_at_a_pause_is_changed_once_and_shown_as_changed(opened):
    page, _ = opened("evaluate")
    expect(page.part("live-cannot-change")).to_contain_text("not paused at a tensor")
    press(page, "F11")
    page.click("dock-tab-tensors")
    row(page, "x:0").get_by_test_id("live-break").click()
    press(page, "F8")
    expect(headline(page)).to_have_text("Live: Paused at x:0 in loss (call 1)")
    row(page, "x:0").get_by_test_id("live-view").click()
    page.click("dock-tab-evaluate")
    page.part("live-change-kind").select_option(label="Multiply by")
    page.part("live-change-text").fill("many")
    expect(page.part("live-change")).to_be_disabled()
    page.part("live-change-text").fill("4")
    page.click("live-change")
    expect(page.part("live-changed")).to_contain_text("Changed to value * 4")
    expect(page.part("live-value-call")).to_contain_text("changed")
    expect(page.part("value-summary")).to_contain_text("4")
    page.part("live-change-kind").select_option(label="Set to the expression")
    page.part("live-change-text").fill("value[7]")
    page.click("live-change")
    expect(page.part("live-changed")).to_contain_text("IndexError")
    page.click("dock-tab-tensors")
    expect(row(page, "x:0")).to_contain_text("changed")
    expect(row(page, "x:0")).to_contain_text("[[0.0, 4.0]]")


def test_a_program_that_does_not_allow_changes_says_so(opened):
    page, _ = opened("evaluate", program={"may_change_values": False})
    steps(page, "x:0")
    expect(page.part("live-cannot-change")).to_contain_text("may_change_values=True")
    expect(page.part("live-change")).to_have_count(0)


@pytest.mark.long
@each_window
def test_each_panel_is_accessible_and_not_wider_than_the_window(opened, scheme, width, height):
    page, _ = opened("tensors", program={"ops": (*MOVING, *KINDS)}, scheme=scheme, width=width, height=height)
    steps(page, "x:0", "Log:0", "mul:0")
    row(page, "x:0").get_by_test_id("live-watch").click()
    row(page, "mul:0").get_by_test_id("live-break").click()
    for _ in range(3):
        press(page, "F8")
    expect(headline(page)).to_contain_text("Paused at mul:0 in loss (call 3)")
    for panel in ("tensors", "ops", "calls", "curves", "evaluate"):
        page.click(f"dock-tab-{panel}")
        if panel == "evaluate":
            _ask(page, "np.max(`nobody:0`)")
            expect(page.part("live-result").get_by_role("alert")).to_be_visible()
        assert page.serious_violations() == [], panel
        assert page.frame.evaluate("document.documentElement.scrollWidth") <= width, panel
        if panel == "curves" and width > 860:
            assert _right(page.part("dock-curves")) - _right(page.part("curve-number")) < 10
        _look(page, f"live-{panel}-{scheme}-{width}")
    page.click("dock-tab-tensors")
    row(page, "x:0").get_by_test_id("live-view").click()
    press(page, "F8")
    expect(page.part("live-history")).to_be_visible()
    assert page.serious_violations() == []
    _look(page, f"live-value-{scheme}-{width}")


def _right(part: Locator) -> float:
    box = part.bounding_box()
    return box["x"] + box["width"]


def _look(page: DebuggerPage, name: str) -> None:
    """Keep a screenshot to look at."""
    folder = ROOT / "test-results"
    folder.mkdir(exist_ok=True)
    page.page.screenshot(path=folder / f"{name}.png")
