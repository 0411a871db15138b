"""`frontend/src/views/values`: the value view shows what the tensors of a program hold."""

from __future__ import annotations

import ast
import io
import re
import time
from contextlib import closing

import ml_dtypes
import numpy as np
import pytest
from playwright.sync_api import expect

from tb_debugger_plugin.events.modes import TensorDebugMode
from tests.support.debugger_page import DebuggerPage, open_page, page_on, quiet_page
from tests.support.events import small_program, whole
from tests.support.programs import run_python
from tests.support.serving import await_run, tensorboard
from tests.support.value_program import LARGE, STEPS, VALUES, large

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow]

_PROGRAM = "tests.support.value_program"
_NAMES = list(VALUES)
_NUMPY = {
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e5m2": ml_dtypes.float8_e5m2,
}
_LIVE_MS = 15_000


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A TensorBoard on the recorded program."""
    folder = tmp_path_factory.mktemp("values")
    run_python("-m", _PROGRAM, str(folder / "logdir"))
    with tensorboard(folder / "logdir", folder / "tensorboard.txt") as address:
        await_run(address)
        yield address


@pytest.fixture
def page(browser, address):
    """The page of the program."""
    with quiet_page(browser, address, width=1440, height=900) as page:
        assert page.frame
        yield page


@pytest.fixture(scope="module")
def window(browser, address):
    """A window for all tests that open a value by its link and leave nothing behind."""
    with open_page(browser, address, width=1440, height=900) as page:
        yield page


@pytest.fixture
def same_page(window):
    """The page in that window."""
    yield window
    assert window.complaints == []


def _show(page: DebuggerPage, value: str, **more: str) -> None:
    """Open a value by its link, as `e0.3`, and wait until it is there."""
    keys = {"execution": "1", "value": value, **more}
    link = "&".join(f"p.debugger.{key}={text}" for key, text in keys.items())
    # A page that is busy writes its own link, also over one that it has not read yet.
    page.frame.page.evaluate("link => { location.hash = `#debugger&${link}`; }", link)
    expect(page.part("value-view")).to_be_visible()
    assert page.frame


def _ref(name: str) -> str:
    """The link of a value: all are results of the first call."""
    return f"e0.{_NAMES.index(name)}"


def _array(name: str) -> np.ndarray:
    """The elements as the program has them."""
    dtype, make = VALUES[name]
    array = np.asarray(make())
    return array if dtype == "string" else array.astype(_NUMPY.get(dtype, dtype))


def _texts(page: DebuggerPage) -> list[list[str]]:
    """The cells of the table that are in the document, row by row."""
    expect(page.part("value-element").first).to_be_visible()
    expect(page.part("value-element").filter(has_text="…")).to_have_count(0)
    return page.frame.eval_on_selector_all(
        ".value-row",
        "rows => rows.map(row => [...row.querySelectorAll('.value-cell')].map(cell => cell.textContent))",
    )


def _element(dtype: str, text: str) -> complex | bytes:
    """The element that a text of the table stands for."""
    if dtype in ("string", "bool"):
        element = ast.literal_eval(text)
        return element.encode() if isinstance(element, str) else element
    if dtype.startswith("complex"):
        return complex(text)
    return int(text) if dtype == "int64" else float(text)


@pytest.mark.parametrize("name", [name for name in _NAMES if name not in ("scalar", "empty", "vector")])
def test_the_table_has_each_element_of_each_dtype_and_rank(same_page, name):
    page, dtype, array = same_page, VALUES[name][0], _array(name)
    _show(page, _ref(name), tab="table")
    expect(page.part("value-head")).to_contain_text(f"{dtype} {list(array.shape)}")
    first = array[(0,) * (array.ndim - 2)] if array.ndim > 2 else array
    actual = [[_element(dtype, text) for text in row] for row in _texts(page)]
    if dtype == "string":
        assert actual == [[str(x).encode() if isinstance(x, str) else x for x in row] for row in first]
        return
    expected = first[: len(actual), : len(actual[0])]
    assert len(actual[0]) == first.shape[1]
    elements = np.array(actual).astype(expected.dtype)
    if dtype in _NUMPY:  # whose NaN NumPy does not know
        elements, expected = elements.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_array_equal(elements, expected)


def test_a_scalar_is_a_text_and_an_empty_tensor_says_that_it_is_empty(page):
    _show(page, _ref("scalar"))
    expect(page.part("value-scalar")).to_have_text("-2.5")
    _show(page, _ref("empty"))
    expect(page.part("value-view")).to_contain_text("There are no elements")


def _kinds_at(page: DebuggerPage, cells: list[tuple[int, int]]) -> list[str]:
    """The colours in the middle of cells of the heat map, in which all of the slice is seen."""
    pixels = """(canvas, [cells, names]) => {
      const style = getComputedStyle(document.documentElement);
      const number = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16)).join();
      const colour = name => number(style.getPropertyValue(name).trim());
      const known = Object.fromEntries(names.map(name => [colour(name), name]));
      const size = Number(canvas.dataset.pixels);
      return cells.map(([row, column]) => {
        const [x, y] = [(column + 0.15) * size, (row + 0.15) * size];
        const data = canvas.getContext("2d").getImageData(Math.floor(x), Math.floor(y), 1, 1).data;
        return known[[...data].slice(0, 3).join()] ?? "finite";
      });
    }"""
    expect(page.part("value-map")).to_have_attribute("data-whole", "true")
    names = ["--value-nan", "--value-pos-inf", "--value-neg-inf"]
    return page.part("value-map").evaluate(pixels, [cells, names])


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_heat_map_marks_nan_and_infinities(browser, address, keep_screenshot, scheme):
    with open_page(browser, address, scheme=scheme, width=1440, height=900) as page:
        _show(page, _ref("matrix"))
        actual = _kinds_at(page, [(0, 0), (0, 1), (0, 4), (0, 6), (2, 3)])
        assert actual == ["finite", "--value-nan", "--value-pos-inf", "--value-neg-inf", "finite"]
        assert page.serious_violations() == [] and page.complaints == []
        keep_screenshot(page.page, f"value-{scheme}")


@pytest.mark.long
def test_one_bad_element_among_25_million_is_seen_and_found_by_its_position(page):
    begin = time.monotonic()
    _show(page, "e1.0")
    expect(page.part("value-map")).to_have_attribute("data-whole", "true")
    print(f"first picture after {1000 * (time.monotonic() - begin):.0f} ms")
    assert _kinds_at(page, [(1234, 4321), (4000, 700), (2500, 2500)]) == [
        "--value-nan",
        "--value-neg-inf",
        "finite",
    ]
    expect(page.part("value-summary")).to_contain_text("25,000,000 elements")
    canvas = page.part("value-map")
    canvas.focus()
    canvas.press("ArrowRight")
    expect(page.part("value-cell")).to_have_text(re.compile(r"^\[0, 0\] = \d"))
    text = page.part("value-cell").inner_text().partition("= ")[2]
    assert np.float32(text) == large()[0, 0]


COUNT_FRAMES = """async canvas => {
  const box = canvas.getBoundingClientRect();
  const send = (type, x, y) => canvas.dispatchEvent(new PointerEvent(type, {
    bubbles: true, pointerId: 1, button: 0, buttons: 1, clientX: box.left + x, clientY: box.top + y }));
  const wheel = by => canvas.dispatchEvent(new WheelEvent("wheel", {
    bubbles: true, cancelable: true, deltaY: by, clientX: box.left + 150, clientY: box.top + 150 }));
  canvas.setPointerCapture = () => {};
  const begin = performance.now();
  let [frames, longest, last] = [0, 0, begin];
  await new Promise(done => {
    const step = now => {
      frames++;
      longest = Math.max(longest, now - last);
      last = now;
      const t = (now - begin) / 3000;
      if (t >= 1) { send("pointerup", 0, 0); done(); return; }
      if (t < 0.4) wheel(-25);
      else if (frames % 40 === 0) { send("pointerup", 0, 0); send("pointerdown", 300, 200); }
      else send("pointermove", 300 - (frames % 40) * 8, 200 - (frames % 40) * 4);
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  });
  return { rate: frames / ((performance.now() - begin) / 1000), longest };
}"""


@pytest.mark.long
def test_moving_through_a_large_matrix_ends_with_finer_tiles(page):
    _show(page, "e1.0")
    canvas = page.part("value-map")
    expect(canvas).to_have_attribute("data-whole", "true")
    actual = canvas.evaluate(COUNT_FRAMES)
    print(f"{actual['rate']:.0f} frames a second, the longest took {actual['longest']:.0f} ms")
    expect(canvas).to_have_attribute("data-whole", "true")
    canvas.dblclick()
    expect(canvas).to_have_attribute("data-whole", "true")


def test_a_slider_an_axis_and_the_slice_field_choose_the_slice(page):
    _show(page, _ref("images"))
    array = _array("images")
    slicing = page.part("value-slicing")
    expect(slicing).to_have_value("[0, 0, :, :]")
    page.part("value-axis-1").fill("2")
    expect(slicing).to_have_value("[0, 2, :, :]")
    page.part("value-down").select_option("axis 1")
    expect(slicing).to_have_value("[0, :, 0, :]")
    page.part("value-tab-table").click()
    actual = np.array(_texts(page), np.float32)
    np.testing.assert_array_equal(actual, array[0, :, 0, :])
    page.part("value-swap").click()
    expect(page.part("value-element").nth(1)).to_have_text(str(array[0, 1, 0, 0]))
    np.testing.assert_array_equal(np.array(_texts(page), np.float32), array[0, :, 0, :].T)
    slicing.fill("1, ..., ::-2, 3")
    slicing.press("Enter")
    expect(slicing).to_have_value("1, ..., ::-2, 3")
    expect(page.part("value-summary")).to_contain_text("6 elements")
    np.testing.assert_array_equal(np.array(_texts(page), np.float32), array[1, :, ::-2, 3].T)


@pytest.mark.parametrize(
    ("slicing", "problem"),
    [
        ("[0, 0, 0]", "has 3 indices, but the tensor has 2 dimensions"),
        ("[::0, :]", "step"),
        ("[99]", "99"),
        ("[a]", "is not NumPy's notation"),
    ],
)
def test_a_slice_that_cannot_be_is_a_line_below_its_field(window, slicing, problem):
    page = window
    _show(page, _ref("matrix"))
    field = page.part("value-slicing")
    field.fill(slicing)
    field.press("Enter")
    expect(page.part("slice-problem")).to_contain_text(problem)
    field.fill("")
    field.press("Enter")
    expect(page.part("slice-problem")).to_have_count(0)
    expect(page.part("value-map")).to_be_visible()
    page.complaints.clear()  # of the refused slice


def test_the_elements_of_a_range_are_counted_and_highlighted(page):
    _show(page, _ref("matrix"), tab="table")
    array = _array("matrix")
    page.frame.get_by_label("Highlight elements from").fill("1.5")
    page.frame.get_by_label("Highlight elements from").press("Enter")
    page.frame.get_by_label("Highlight elements to").fill("inf")
    page.frame.get_by_label("Highlight elements to").press("Enter")
    inside = int((array >= 1.5).sum())
    share = float(f"{100 * inside / array.size:.3g}")
    expect(page.part("value-in-range")).to_have_text(f"{inside} of 320 elements ({share:g} %)")
    rows = len(_texts(page))
    expect(page.frame.locator(".value-inside")).to_have_count(int((array[:rows] >= 1.5).sum()))
    page.frame.get_by_label("Highlight elements to").fill("many")
    page.frame.get_by_label("Highlight elements to").press("Enter")
    expect(page.part("value-in-range")).to_have_text("not a number")


def test_the_time_slider_goes_through_the_occurrences_and_an_element_has_a_curve(page):
    _show(page, "e3.0")
    head = page.part("value-occurrence")
    expect(head).to_have_text(f"2 of {STEPS}")
    canvas = page.part("value-map")
    canvas.focus()
    canvas.press("ArrowRight")
    canvas.press("ArrowRight")
    expect(page.part("value-history")).to_contain_text("[0, 1]")
    for at, text in enumerate(["0", "1", "NaN", "3"]):
        page.part("value-time").fill(str(at))
        expect(head).to_have_text(f"{at + 1} of {STEPS}")
        expect(page.part("value-now")).to_have_text(text)
    assert "p.debugger.value=e5.0" in page.page.url


def test_the_numbers_of_a_complex_tensor_are_those_of_the_part(page):
    _show(page, _ref("wave"))
    array = _array("wave")
    for part, numbers in (("imag", array.imag), ("abs", np.abs(array))):
        page.part("value-part").select_option(part)
        expect(page.part("value-summary")).to_contain_text(f"max{float(f'{numbers.max():.4g}'):g}")


def test_the_download_is_the_slice_as_numpy_has_it(page):
    _show(page, _ref("cube"), slicing="[1, :, ::3]")
    with page.page.expect_download() as download:
        page.part("value-download").click()
    content = download.value.path().read_bytes()
    np.testing.assert_array_equal(np.load(io.BytesIO(content)), _array("cube")[1, :, ::3])


def test_a_link_opens_the_value_again_and_escape_closes_it(page):
    _show(page, _ref("cube"))
    page.part("value-axis-0").fill("2")
    page.part("value-tab-table").click()
    assert page.frame
    page.page.reload()
    expect(page.part("value-slicing")).to_have_value("[2, :, :]")
    expect(page.part("value-table")).to_be_visible()
    page.page.keyboard.press("Escape")
    expect(page.part("value-view")).to_have_count(0)
    expect(page.part("execution-card")).to_be_visible()
    assert "debugger.value" not in page.page.url


@pytest.mark.long
def test_the_table_scrolls_to_the_last_element_of_a_large_matrix_by_keys(page):
    _show(page, "e1.0", tab="table", slicing="[4000:, :]")
    table = page.part("value-table")
    table.focus()
    for key in ("ArrowDown", "End", *["PageDown"] * 80):
        table.press(key)
    selected = page.frame.locator(".value-cell[aria-selected=true]")
    expect(selected).to_be_visible()
    expect(selected).not_to_have_text("…")
    assert np.float32(selected.inner_text()) == large()[LARGE - 1, LARGE - 1]


@pytest.mark.long
def test_values_are_opened_from_rows_cards_and_the_first_cause(browser, address):
    with quiet_page(browser, address, width=1440, height=900) as page:
        page.await_first_cause()
        page.part("first-bad-value").click()
        expect(page.part("value-head")).to_contain_text("Const:0")
        page.part("value-close").click()
        page.frame.locator(".structure").get_by_test_id("value-button").first.click()
        expect(page.part("value-head")).to_contain_text("Const:0")
        row = page.part("graph-executions-row").nth(1)
        row.get_by_test_id("value-button").click()
        expect(page.part("value-head")).to_contain_text("Const_1:0")
        page.part("timeline-box").nth(2).click()
        page.part("execution-card").get_by_test_id("value-button").first.click()
        expect(page.part("value-head")).to_contain_text("moving")
        page.page.keyboard.press("Escape")
        page.part("graph-executions-row").first.click()
        assert page.frame
        page.page.keyboard.press("v")
        expect(page.part("value-view")).to_be_visible()


@pytest.mark.parametrize("width", [390, 1024, 1280])
def test_nothing_of_a_value_is_wider_than_the_window(browser, address, width):
    with open_page(browser, address, width=width) as page:
        assert page.frame
        _show(page, _ref("five"))
        expect(page.part("value-map")).to_be_visible()
        assert page.frame.evaluate("document.documentElement.scrollWidth") <= width
        assert page.serious_violations() == []


@pytest.mark.long
def test_the_dumps_of_tensorflows_own_recorder_are_shown(browser, tmp_path):
    run_python("-m", _PROGRAM, str(tmp_path / "logdir"), "--tensorflow")
    with page_on(browser, tmp_path / "logdir", width=1440, height=900) as page:
        assert page.frame
        _show(page, _ref("matrix"), tab="table")
        actual = np.array(_texts(page), np.float32)
        np.testing.assert_array_equal(actual, _array("matrix")[: len(actual)])


@pytest.mark.long
def test_a_live_run_gets_more_occurrences_and_keeps_the_one_that_is_shown(browser, tmp_path):
    mode = TensorDebugMode.FULL_TENSOR
    with (
        closing(small_program(tmp_path / "run", steps=0, mode=mode, start=time.time())) as recording,
        tensorboard(tmp_path, tmp_path / "tensorboard.txt") as address,
    ):
        for step in range(2):
            recording.trace("g1", "Log", whole(np.full((2, 2), step, np.float32), 1))
        with open_page(browser, address) as page:
            page.show_recording()
            expect(page.part("graph-executions-row")).to_have_count(2, timeout=_LIVE_MS)
            page.part("value-button").nth(1).click()
            expect(page.part("value-occurrence")).to_have_text("2 of 2")
            recording.trace("g1", "Log", whole(np.full((2, 2), 7, np.float32), 1))
            expect(page.part("value-occurrence")).to_have_text("2 of 3", timeout=_LIVE_MS)
            page.part("value-time").fill("2")
            expect(page.part("value-summary")).to_contain_text("max7")


@pytest.mark.long
def test_a_tensor_that_was_too_large_says_so_with_its_numbers(browser, tmp_path):
    program = (
        "import sys, numpy as np, tensorflow as tf, tb_debugger_plugin\n"
        "with tb_debugger_plugin.record(sys.argv[1], mode='FULL_TENSOR', max_tensor_bytes=100):\n"
        "  tf.function(lambda x: tf.math.log(x))(tf.constant(np.zeros([10, 10], np.float32)))\n"
    )
    run_python("-c", program, str(tmp_path / "logdir"))
    with page_on(browser, tmp_path / "logdir") as page:
        assert page.frame
        _show(page, "e0.0", execution="0")
        expect(page.part("value-missing")).to_contain_text("max_tensor_bytes")
        expect(page.part("value-missing")).to_contain_text("100")
        assert page.serious_violations() == []
