"""`frontend/src/views/graph`: the graph around an op, and a whole function, as a picture."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from tests.support.debugger_page import quiet_page
from tests.support.events import Recording, full_health
from tests.support.serving import tensorboard

pytestmark = pytest.mark.browser

_GOOD, _NAN, _ZERO = full_health([1.0, 2.0]), full_health([float("nan"), 1.0]), full_health([0.0, 0.0])
_SHAPE = [(1, [2])]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A TensorBoard on a function of two layers, the second of which computes NaN.

    ::

        x -> low/scale -> low/shift -> top/Log -> top/Mul -> call(inner) -> end
        x -> taker_0 ... taker_4                    inner: a -> Neg
    """
    folder = tmp_path_factory.mktemp("graph")
    recording = Recording(folder / "run", recorder_version="0.1.0")
    recording.graph("g1", "outer")
    recording.graph("g2", "inner", "g1")
    recording.op("g1", "x", "Placeholder", ids=[10], outputs=_SHAPE)
    recording.op("g1", "low/scale", "Mul", ["x:0"], ids=[11], outputs=_SHAPE, layer="low")
    recording.op("g1", "low/shift", "AddV2", ["low/scale:0"], ids=[12], outputs=_SHAPE, layer="low")
    names = {"control_input_names": ["x"], "attributes": 1}
    recording.op("g1", "top/Log", "Log", ["low/shift:0"], ids=[13], outputs=_SHAPE, layer="top", **names)
    recording.attributes(1, T="float32")
    recording.op("g1", "top/Mul", "Mul", ["top/Log:0"], ids=[14], outputs=_SHAPE, layer="top")
    recording.op("g1", "call", "PartitionedCall", ["top/Mul:0"], ids=[15], called_graph_ids=["g2"])
    recording.op("g1", "end", "Identity", ["call:0"], ids=[16])
    for i in range(5):
        recording.op("g1", f"taker_{i}", "Neg", ["x:0"], ids=[100 + i])
    recording.op("g2", "a", "Placeholder", ids=[200])
    recording.op("g2", "Neg", "Neg", ["a:0"], ids=[201])
    for graph, op, health in (
        *(("g1", "x", _GOOD), ("g1", "low/scale", _GOOD), ("g1", "low/shift", _ZERO)),
        *(("g1", "top/Log", _NAN), ("g1", "top/Mul", _NAN), ("g2", "Neg", _NAN), ("g1", "call", _NAN)),
    ):
        recording.trace(graph, op, health)
    recording.execution("__inference_outer_7", [_NAN], graph_id="g1", ids=[3])
    recording.counts(1, 7, finished=True)
    recording.close()
    with tensorboard(folder / "run", folder / "tensorboard.txt") as address:
        yield address


@pytest.fixture
def page(browser, address):
    """The tab Graph at the first bad op."""
    with quiet_page(browser, address) as page:
        page.await_first_cause()
        page.click("graph-structure-graph")
        expect(page.part("graph-node").first).to_be_visible()
        yield page


def _box(page, title):
    return page.part("graph-node").filter(has=page.frame.locator(f".graph-title:text-is('{title}')"))


def _titles(page):
    return page.frame.locator(".graph-title")


def test_ops_are_laid_out_from_inputs_to_consumers_with_their_tensors(page):
    page.part("graph-frame").press("1")
    expect(_titles(page)).to_have_count(3)
    left, middle, right = (_box(page, name).bounding_box() for name in ("shift", "Log", "Mul"))
    assert left["x"] + left["width"] < middle["x"] and middle["x"] + middle["width"] < right["x"]
    links = page.part("graph-link")
    expect(links.filter(has_text=":0 → 0  0")).to_contain_text("float32 [2]")
    expect(links.filter(has_text=":0 → 0  NaN")).to_contain_text("float32 [2]")
    expect(_box(page, "shift")).to_have_attribute("aria-label", re.compile("1 more op before it"))
    assert page.serious_violations() == []


def test_hops_reach_across_calls_and_what_is_left_out_is_counted(page, keep_screenshot):
    page.part("graph-frame").press("6")
    expect(page.frame.locator("[data-testid=graph-hops]")).to_have_value("6")
    inner = page.part("graph-node").filter(has_text="in inner")
    expect(inner).to_have_count(2)
    expect(page.frame.locator(".graph-link-into")).to_have_count(1)
    expect(_box(page, "x").locator("[data-testid=graph-more-after]")).to_have_text("+5 more →")
    # The way of the bad value goes from its birth on.
    expect(_box(page, "Log")).to_have_class(re.compile("graph-node-way"))
    expect(_box(page, "scale")).not_to_have_class(re.compile("graph-node-way"))
    keep_screenshot(page.page, "graph-light")


def test_keys_go_along_the_links_and_bring_an_op_into_focus(page):
    frame, cursor = page.part("graph-frame"), page.part("graph-cursor")
    frame.press("1")
    expect(_titles(page)).to_have_count(3)
    expect(cursor).to_contain_text("top/Log")
    frame.press("ArrowRight")
    expect(cursor).to_contain_text("top/Mul")
    frame.press("ArrowLeft")
    frame.press("ArrowLeft")
    expect(cursor).to_contain_text("low/shift")
    frame.press("Enter")
    expect(page.part("graph-structure-op")).to_contain_text("shift")
    expect(_titles(page)).to_have_count(3)
    expect(_box(page, "scale")).to_be_visible()
    frame.press("ArrowRight")
    expect(cursor).to_contain_text("top/Log")


def test_the_picture_moves_and_zooms_and_shows_all_again(page):
    moved = page.frame.locator(".graph-svg > g")
    begin = moved.get_attribute("transform")
    frame = page.part("graph-frame")
    frame.press("+")
    expect(moved).not_to_have_attribute("transform", begin)
    frame.press("0")
    place = frame.bounding_box()
    page.page.mouse.move(place["x"] + 20, place["y"] + 20)
    fitted = moved.get_attribute("transform")
    page.page.mouse.wheel(0, -200)
    expect(moved).not_to_have_attribute("transform", fitted)
    page.click("graph-fit")
    expect(moved).to_have_attribute("transform", fitted)
    page.page.mouse.move(place["x"] + 20, place["y"] + 20)
    page.page.mouse.down()
    page.page.mouse.move(place["x"] + 60, place["y"] + 50)
    page.page.mouse.up()
    expect(moved).not_to_have_attribute("transform", fitted)


def test_scopes_and_layers_are_one_box_until_they_are_opened(page):
    page.part("graph-frame").press("3")
    page.part("graph-grouping").select_option("scope")
    low = _box(page, "low")
    expect(low).to_contain_text("2 ops")
    low.click()
    expect(_box(page, "scale")).to_be_visible()
    page.click("graph-close-boxes")
    expect(low).to_be_visible()
    page.part("graph-grouping").select_option("layer")
    expect(low).to_contain_text("2 ops")


def test_a_function_is_entered_from_the_op_that_runs_it(page):
    page.part("graph-frame").press("2")
    page.part("graph-runs").first.click()
    expect(page.part("graph-structure-op")).to_contain_text("Neg")
    expect(page.part("graph-details")).to_contain_text("Neg")


def test_attributes_and_ops_that_it_waits_for_are_beside_the_picture(page):
    expect(page.part("graph-attributes")).to_contain_text("float32")
    waiting = page.part("graph-details-waiting")
    expect(waiting).to_have_text("x")
    waiting.click()
    expect(page.part("graph-structure-op")).to_contain_text("x")


def test_a_whole_function_shows_the_layer_that_was_bad_first(page):
    page.part("graph-extent").select_option("whole")
    expect(page.part("graph-first")).to_have_text("first bad in top: top/Log")
    expect(_box(page, "top")).to_contain_text("first bad")
    expect(_box(page, "low")).to_contain_text("✓")
    expect(page.part("graph-counts")).to_contain_text("1 bad")
    page.part("graph-until").select_option("end")
    expect(page.part("graph-counts")).to_contain_text("2 bad")
    _box(page, "top").click()
    page.click("graph-first-op")
    expect(page.part("graph-structure-op")).to_contain_text("Log")
    assert page.serious_violations() == []


def test_the_picture_is_saved_whole_and_with_its_colours(page, tmp_path):
    with page.page.expect_download() as download:
        page.click("graph-save")
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.name == "Log.svg"
    root = ElementTree.parse(path).getroot()
    text = path.read_text()
    assert root.tag.endswith("svg") and "var(--" not in text and "class=" not in text
    titles = {element.text for element in root.iter() if element.tag.endswith("text")}
    assert {"Log", "Mul", "shift"} <= titles
    assert all(element.get("fill") for element in root.iter() if element.tag.endswith("rect"))


def test_without_workers_the_page_lays_it_out_itself(browser, address):
    with quiet_page(browser, address) as page:
        page.await_first_cause()
        page.frame.evaluate("() => { window.Worker = class { constructor() { throw new Error() } } }")
        page.click("graph-structure-graph")
        expect(_box(page, "Log")).to_be_visible()
