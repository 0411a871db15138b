"""`frontend/src/views/curves`: numbers of tensors over time, and gradients by variable and step."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from tb_debugger_plugin.events.modes import TensorDebugMode
from tests.support.debugger_page import DebuggerPage, each_window, quiet_page
from tests.support.events import Recording, values_program, vector
from tests.support.numerics import training
from tests.support.serving import tensorboard
from tests.support.twin import summarize

pytestmark = pytest.mark.browser

STEPS = 40
#: The steps whose gradient has NaN.
BAD = (7, 30)
#: Tensors of a step, in order; the last two are the gradient of the dense layer and its update.
NAMES = ("read", "read_2", "gradient_tape/out", "gradient_tape/MatMul", "Mul")
GRADIENT = NAMES.index("gradient_tape/MatMul")


def gradient(step: int) -> np.ndarray:
    """The gradient of the dense layer: it shrinks, and is 10 000 times smaller than that of the next one."""
    array = np.array([[3.0, -4.0], [0.0, 12.0]]) * 1e-5 / (step + 1)
    if step in BAD:
        array[0, 0] = np.nan
    return array


def norm(step: int) -> float:
    """Its norm, of the finite elements."""
    array = gradient(step)
    return float(np.linalg.norm(array[np.isfinite(array)]))


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A TensorBoard on a training with summaries, and on a program with kept values."""
    folder = tmp_path_factory.mktemp("curves")
    made = [
        {
            **{"read": np.full(4, 10.0), "read_2": np.full(4, 2.0), "gradient_tape/out": np.ones(4)},
            **{"gradient_tape/MatMul": gradient(step), "Mul": gradient(step) / 10},
        }
        for step in range(STEPS)
    ]
    training(folder / "logdir" / "train", made).close()
    values_program(folder / "logdir" / "values").close()
    with tensorboard(folder / "logdir", folder / "tensorboard.txt") as address:
        yield address


def at(step: int, tensor: int = GRADIENT) -> int:
    """The position of a tensor of a step in the list of graph executions."""
    return step * len(NAMES) + tensor


@pytest.fixture
def page(browser, address):
    """The curve of the gradient, at the third step."""
    link = f"{address}#debugger&p.debugger.run=train&p.debugger.trace={at(2)}&p.debugger.subject=op"
    with quiet_page(browser, link) as page:
        page.frame.locator("body").press("v")
        drawn(page)
        yield page


def drawn(page: DebuggerPage, name: str = "curve-chart"):
    """The chart, once it is drawn."""
    chart = page.part(name)
    expect(chart).to_have_attribute("data-drawn", "true")
    assert page.frame
    return chart


def cells(page: DebuggerPage, row: int = 0) -> list[str]:
    """The texts of a row of the table below the chart."""
    return [
        (cell.text_content() or "").strip()
        for cell in page.part("curve-table").locator("tbody tr").nth(row).locator("th, td").all()
    ]


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def test_v_on_a_tensor_without_a_kept_value_opens_its_curve(page):
    name, _, lowest, highest, last, computed, bad, _ = cells(page)
    norms = [norm(step) for step in range(STEPS)]
    assert name == "gradient_tape/MatMul:0" and computed == f"{STEPS} times" and bad == f"✕ {len(BAD)}"
    assert [number(lowest), number(highest), number(last)] == pytest.approx(
        [min(norms), max(norms), norms[-1]], rel=1e-3
    )
    expect(page.part("value-occurrence")).to_have_text(f"3 of {STEPS}")
    expect(page.part("value-missing")).to_contain_text("record with keep_values")
    assert "History" not in page.part("value-view").inner_text()


def test_a_bad_moment_is_said_and_leads_to_its_computation(page):
    expect(page.part("curve-chart")).to_have_attribute("aria-label", re.compile(r"40 points, 2 bad"))
    page.click("curve-first-bad")
    expect(page.part("value-occurrence")).to_have_text(f"{BAD[0] + 1} of {STEPS}")
    assert f"p.debugger.trace={at(BAD[0])}&" in f"{page.page.url}&"


def test_the_keyboard_moves_along_the_curve_and_chooses(page):
    chart = drawn(page)
    chart.focus()
    chart.press("Home")
    words = page.part("curve-chart-words")
    expect(words).to_have_text(re.compile(r"^occurrence 1 · "))
    for _ in range(BAD[0]):
        chart.press("ArrowRight")
    expect(words).to_have_text(re.compile(rf"^occurrence {BAD[0] + 1} · .* ✕$"))
    assert number(cells(page)[1]) == pytest.approx(norm(BAD[0]), rel=1e-3)
    chart.press("End")
    expect(words).to_have_text(re.compile(rf"^occurrence {STEPS} · "))
    chart.press("Enter")
    expect(page.part("value-occurrence")).to_have_text(f"{STEPS} of {STEPS}")
    assert f"p.debugger.trace={at(STEPS - 1)}&" in f"{page.page.url}&"


def test_a_click_on_the_curve_brings_that_computation_into_focus(page):
    over = drawn(page).locator(".u-over")
    box = over.bounding_box()
    over.hover(position={"x": box["width"] - 1, "y": 20})
    expect(page.part("curve-chart-words")).to_have_text(re.compile(rf"^occurrence {STEPS} · "))
    over.click(position={"x": box["width"] - 1, "y": 20})
    expect(page.part("value-occurrence")).to_have_text(f"{STEPS} of {STEPS}")


def test_a_range_is_zoomed_by_keys_or_by_dragging_and_left_again(page):
    chart = drawn(page)
    chart.focus()
    chart.press("Home")
    chart.press("+")
    expect(page.part("curve-all")).to_have_text(re.compile(r"^1–1\d ×$"))
    chart.press("0")
    expect(page.part("curve-all")).to_have_count(0)
    expect(chart).to_have_attribute("aria-label", re.compile(r"at 40 points"))
    box = chart.locator(".u-over").bounding_box()
    page.page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 30)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 30, steps=4)
    page.page.mouse.up()
    expect(page.part("curve-all")).to_have_text(re.compile(r"^1\d–20 ×$"))
    page.click("curve-all")
    expect(page.part("curve-all")).to_have_count(0)


def test_numbers_axis_and_scale_can_be_chosen(page):
    page.part("curve-number-choice").select_option("zero")
    expect(page.part("curve-chart")).to_have_attribute(
        "aria-label", re.compile(r"^number of zeros by occurrence\. .*: 1 to 1 at 40 points")
    )
    page.part("curve-axis").select_option(label="time")
    drawn(page).focus()
    page.part("curve-chart").press("Home")
    expect(page.part("curve-chart-words")).to_have_text(re.compile(r"^\d\d:\d\d:\d\d\.\d{3} · 1$"))
    page.part("curve-number-choice").select_option("min")
    page.part("curve-log").check()  # negative numbers, too
    drawn(page)
    assert "p.debugger.number=min" in page.page.url


def test_several_tensors_are_drawn_in_one_chart(page):
    page.click("curve-add-update")
    expect(page.part("curve-table").locator("tbody tr")).to_have_count(2)
    name, _, _, highest, *_ = cells(page, 1)
    assert name == "dense/kernel · update" and number(highest) == pytest.approx(norm(0) / 10, rel=1e-3)
    page.click("curve-keep")
    page.part("graph-executions-row").nth(0).click()
    page.frame.locator("body").press("v")
    expect(page.part("curve-table").locator("tbody tr")).to_have_count(3)
    page.click("curve-drop")
    expect(page.part("curve-table").locator("tbody tr")).to_have_count(2)


def test_an_element_of_kept_values_has_a_curve(browser, address):
    link = f"{address}#debugger&p.debugger.run=values&p.debugger.value=t1&p.debugger.tab=curve"
    with quiet_page(browser, f"{link}&p.debugger.number={'%5B1%2C%202%5D'}") as page:
        drawn(page)
        name, _, lowest, highest, _, computed, *_ = cells(page)
        assert (name, computed) == ("Log:0", "3 times")
        assert number(lowest) == number(highest) == pytest.approx(np.log(2), rel=1e-3)
        page.click("value-tab-picture")
        expect(page.part("value-map")).to_be_visible()


def test_a_vanishing_gradient_is_seen_at_a_glance_and_leads_to_its_curve(browser, address):
    with quiet_page(browser, f"{address}#debugger&p.debugger.run=train") as page:
        page.click("dock-tab-gradients")
        page.part("flow-measure").select_option(label="largest magnitude of the gradient")
        expect(page.part("flow-words")).to_have_text(
            "NaN or infinity in dense/kernel, first in step 8 of 40."
        )
        page.part("flow-measure").select_option(label="update over weight")
        expect(page.part("flow-words")).to_contain_text("NaN or infinity")
        flow = page.part("flow-map")
        flow.focus()
        flow.press("Home")
        page.part("flow-measure").select_option(label="gradient norm")
        expect(page.part("flow-place")).to_have_text(re.compile(rf"^dense/kernel · step 1 of {STEPS} · "))
        row = page.part("flow").locator("tbody tr").first
        texts = [cell.inner_text() for cell in row.locator(".flow-number").all()]
        assert [number(text) for text in texts] == pytest.approx([norm(0), 20.0, norm(0) / 200], rel=1e-3)
        flow.focus()
        flow.press("ArrowRight")
        flow.press("Enter")
        drawn(page)
        expect(page.part("value-occurrence")).to_have_text(f"2 of {STEPS}")
        assert cells(page)[0] == "gradient_tape/MatMul:0"


@each_window
def test_curves_fit_any_window_and_have_no_barriers(browser, address, scheme, width, height):
    link = f"{address}#debugger&p.debugger.run=train&p.debugger.value=t{at(2)}"
    with quiet_page(browser, link, scheme=scheme, width=width, height=height) as page:
        chart = drawn(page)
        page.click("dock-tab-gradients")
        expect(page.part("flow-map")).to_be_visible()
        chart.scroll_into_view_if_needed()
        assert chart.bounding_box()["width"] > 250
        words = page.frame.get_by_role("region", name="The curves in words")
        expect(words).to_have_attribute("tabindex", "0")
        assert page.frame.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.serious_violations() == []


def test_a_run_without_gradients_says_what_is_missing(browser, address):
    with quiet_page(browser, f"{address}#debugger&p.debugger.run=values") as page:
        page.click("dock-tab-gradients")
        expect(page.part("dock-gradients")).to_contain_text("No number of a gradient")


@pytest.fixture(scope="module")
def exponents_address(tmp_path_factory):
    """A TensorBoard on a tensor whose magnitudes sink from step to step; step 7 has NaN and +infinity."""
    folder = tmp_path_factory.mktemp("exponents")
    recording = Recording(folder / "logdir" / "run", mode=TensorDebugMode.EXPONENTS)
    recording.graph("g1", "step")
    recording.op("g1", "sinking", "Mul", ids=[1])
    for step in range(STEPS):
        array = np.float32([2.0**-step, -(2.0 ** -(4 * step)), 0, 1])
        if step == BAD[0]:
            array[:2] = np.nan, np.inf
        recording.trace("g1", "sinking", vector(summarize(array, 1, TensorDebugMode.EXPONENTS, -1)))
        recording.execution("__inference_step_7", graph_id="g1")
    recording.close()
    with tensorboard(folder / "logdir", folder / "tensorboard.txt") as address:
        yield address


def magnitudes(page: DebuggerPage):
    """The heat map of the tensor in focus."""
    page.frame.locator("body").press("v")
    drawn(page)
    page.part("curve-number-choice").select_option(label="histogram of magnitudes")
    return drawn(page, "exponents-map")


@pytest.fixture
def sinking(browser, exponents_address):
    """The heat map, at the third step."""
    link = f"{exponents_address}#debugger&p.debugger.run=run&p.debugger.trace=2&p.debugger.subject=op"
    with quiet_page(browser, link) as page:
        yield page, magnitudes(page)


def test_the_keyboard_moves_over_the_magnitudes_and_chooses_a_computation(sinking):
    page, chart = sinking
    words = page.part("exponents-words")
    chart.focus()
    chart.press("Home")
    chart.press("ArrowUp")
    expect(words).to_have_text("occurrence 1 · NaN · 0 of 4 elements, 0 %")
    for _ in range(BAD[0]):
        chart.press("ArrowRight")
    expect(words).to_have_text("occurrence 8 · NaN · 1 of 4 elements, 25 %")
    chart.press("ArrowDown")
    expect(words).to_have_text("occurrence 8 · +∞ · 1 of 4 elements, 25 %")
    chart.press("Enter")
    expect(page.part("value-occurrence")).to_have_text(f"{BAD[0] + 1} of {STEPS}")
    assert f"p.debugger.trace={BAD[0]}&" in f"{page.page.url}&"
    chart.press("End")
    for _ in range(40):
        chart.press("ArrowDown")
    expect(words).to_have_text(f"occurrence {STEPS} · 0 · 2 of 4 elements, 50 %")
    assert "focusable" not in " ".join(one for one in page.serious_violations() if "exponents" in one)


def test_a_click_on_a_column_of_magnitudes_brings_its_computation_into_focus(sinking):
    page, chart = sinking
    box = chart.bounding_box()
    place = {"x": box["width"] - 10, "y": 30}
    chart.hover(position=place)
    expect(page.part("exponents-words")).to_have_text(re.compile(rf"^occurrence {STEPS} · .* of 4 elements"))
    chart.click(position=place)
    expect(page.part("value-occurrence")).to_have_text(f"{STEPS} of {STEPS}")


def test_magnitudes_are_said_in_words_and_zoomed_by_keys(sinking):
    page, chart = sinking
    expect(chart).to_have_attribute("aria-label", re.compile("NaN or infinity first at occurrence 8"))
    rows = [row.inner_text().split("\t") for row in page.part("exponents-table").locator("tbody tr").all()]
    assert rows[0] == ["first", "occurrence 1", "2⁰ to 2⁸ (75 %)", "25 %", "0 %", "0 %", "0 %"]
    assert [row[:2] for row in rows[1:]] == [["here", "occurrence 3"], ["last", f"occurrence {STEPS}"]]
    chart.press("+")
    expect(page.part("curve-all")).to_have_text("1–20 ×")
    chart.press("0")
    expect(page.part("curve-all")).to_have_count(0)
    page.part("curve-number-choice").select_option(label="largest magnitude")
    drawn(page)


def test_a_recording_without_exponents_offers_no_histogram(page):
    assert "histogram of magnitudes" not in page.part("curve-number-choice").inner_text()
