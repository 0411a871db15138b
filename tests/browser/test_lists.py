"""`frontend/src/views/lists`: lists are filtered, sorted and saved, by mouse and keyboard."""

from __future__ import annotations

import csv
import io
from collections import Counter
from contextlib import contextmanager

import duckdb
import pytest
from playwright.sync_api import expect

from tests.support.debugger_page import each_window, open_page, quiet_page
from tests.support.listed import record
from tests.support.serving import tensorboard

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The rows of a recorded program of two processes, and a TensorBoard on it."""
    folder = tmp_path_factory.mktemp("lists")
    rows = record(folder / "logdir" / "run", seed=9, rows=200)
    with tensorboard(folder / "logdir", folder / "tensorboard.txt") as address:
        yield rows, address


@contextmanager
def _opened(browser, program, link="", **window):
    with quiet_page(
        browser, f"{program[1]}/#debugger{link}", **{"width": 1600, "height": 900, **window}
    ) as page:
        if not link:
            page.show_recording()
        expect(page.part("list-filter")).to_be_visible()
        yield page


def _indices(page, name="graph-executions-row"):
    """The positions of the rows that are seen, from above."""
    rows = page.part(name).evaluate_all(
        "rows => rows.map(row => [row.getBoundingClientRect().top, Number(row.dataset.index)])"
    )
    return [index for _, index in sorted(rows)]


def _await_first(page, index):
    expect(
        page.part("graph-executions-row").and_(page.frame.locator(f"[data-index='{index}']"))
    ).to_be_visible()


def _add(page, text):
    field = page.part("list-filter")
    field.fill(text)
    field.press("Enter")
    page.frame.wait_for_function("document.documentElement.dataset.idle === 'true'")


def _chips(page):
    return [text.splitlines()[0] for text in page.part("filter-chip").all_inner_texts()]


def test_the_filter_leaves_the_rows_that_fulfil_each_term_and_the_link_restores_it(browser, program):
    rows, _ = program
    with _opened(browser, program) as page:
        _add(page, "op=MatMul health:nan process:worker1")
        expect(page.part("filter-chip")).to_have_count(3)
        expected = [
            row.index
            for row in rows
            if row.facts["op_type"] == "MatMul" and row.host == "worker1" and (row.facts["nan"] or 0) > 0
        ]
        expect(page.part("list-tab-graph_executions")).to_contain_text(f"{len(expected)} of {len(rows)}")
        _await_first(page, expected[0])
        seen = _indices(page)
        assert len(seen) > 3 and seen == expected[: len(seen)]
        page.page.reload()
        expect(page.part("filter-chip")).to_have_count(3)
        assert _chips(page) == ["op=MatMul", "health:nan", "process:worker1"]
        expect(page.part("list-tab-graph_executions")).to_contain_text(f"{len(expected)} of {len(rows)}")


def test_terms_are_completed_and_removed_with_the_keyboard_alone(browser, program):
    with _opened(browser, program) as page:
        field, keyboard = page.part("list-filter"), page.page.keyboard
        field.focus()
        keyboard.type("lay")
        expect(page.part("filter-suggestion").first).to_contain_text("layer:")
        keyboard.press("ArrowDown")
        keyboard.press("Enter")
        expect(field).to_have_value("layer:")
        expect(page.part("filter-suggestion").first).to_contain_text("layer=dense_")
        keyboard.type("dense_2")
        expect(page.part("filter-suggestion")).to_have_count(1)
        keyboard.press("ArrowDown")
        keyboard.press("Enter")
        expect(page.part("filter-chip")).to_have_count(1)
        assert _chips(page) == ["layer=dense_2"]
        expect(page.part("graph-executions-row").filter(has_text="dense_1")).to_have_count(0)
        expect(page.part("filter-suggestion")).to_have_count(0)
        keyboard.type("max>1e4 ")
        keyboard.press("Enter")
        expect(page.part("filter-chip")).to_have_count(2)
        keyboard.press("Backspace")
        expect(page.part("filter-chip")).to_have_count(1)
        keyboard.press("Shift+Tab")
        keyboard.press("Delete")
        expect(page.part("filter-chip")).to_have_count(0)
        expect(field).to_be_focused()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("opp:Log", "There is no filter “opp”: did you mean op?"),
        ("health:ill", "health: is bad, good, unmeasured, nan, inf, not “ill”."),
        ("max>high", "max> needs a number such as 1e4, not “high”."),
    ],
)
def test_a_wrong_term_says_what_is_wrong(browser, program, text, sentence):
    with _opened(browser, program) as page:
        _add(page, text)
        expect(page.frame.get_by_role("alert")).to_have_text(sentence)
        expect(page.part("list-filter")).to_have_attribute("aria-invalid", "true")
        expect(page.part("filter-chip")).to_have_count(0)


def test_heads_sort_and_the_list_has_no_blank_to_its_end(browser, program):
    rows, _ = program
    largest = sorted(
        (row for row in rows if row.facts["max"] is not None), key=lambda row: -row.facts["max"]
    ) + [row for row in rows if row.facts["max"] is None]
    with _opened(browser, program) as page:
        page.click("list-columns")
        page.frame.locator(".menu-item").filter(has_text="largest").click()
        page.page.keyboard.press("Escape")
        page.click("head-max")
        _await_first(page, largest[0].index)
        seen = _indices(page)
        assert seen == [row.index for row in largest[: len(seen)]]
        page.frame.get_by_role("grid", name="Graph executions").focus()
        page.page.keyboard.press("End")
        _await_first(page, largest[-1].index)
        seen = _indices(page)
        assert seen == [row.index for row in largest[-len(seen) :]]
        page.part("head-tensor").click()
        by_name = sorted(rows, key=lambda row: (row.facts["op_name"], row.slot))
        _await_first(page, by_name[0].index)
        head = page.frame.locator("[data-column=tensor]")
        expect(head).to_have_attribute("aria-sort", "ascending")
        page.part("head-tensor").press("Enter")
        expect(head).to_have_attribute("aria-sort", "descending")
        page.part("head-tensor").press("Enter")
        expect(head).not_to_have_attribute("aria-sort", "descending")


def test_columns_are_chosen_moved_and_widened_and_the_browser_keeps_them(browser, program):
    rows, _ = program
    with _opened(browser, program) as page:

        def order():
            heads = page.frame.locator(".list-head")
            return heads.evaluate_all("heads => heads.map(head => head.dataset.column)")

        page.click("list-columns")
        page.frame.locator(".menu-item").filter(has_text="k-th").click()
        page.page.keyboard.press("Escape")
        expect(page.part("list-columns")).to_be_focused()
        expect(page.frame.locator("[data-column=occurrence]")).to_be_visible()
        first = page.part("graph-executions-row").and_(page.frame.locator("[data-index='7']"))
        expect(first.get_by_title("computation")).to_have_text(str(rows[7].occurrence + 1))
        before = order()
        page.part("head-tensor").focus()
        page.page.keyboard.press("Alt+ArrowRight")
        place = before.index("tensor")
        assert order() == [*before[:place], before[place + 1], "tensor", *before[place + 2 :]]
        page.part("head-tensor").drag_to(page.part("head-index"), target_position={"x": 1, "y": 5})
        assert order()[0] == "tensor"
        width = page.frame.locator("[data-column=tensor]").bounding_box()["width"]
        page.part("head-tensor").focus()
        page.page.keyboard.press("Shift+ArrowRight")
        page.page.keyboard.press("Shift+ArrowRight")
        moved = order()
        page.page.reload()
        expect(page.frame.locator("[data-column=occurrence]")).to_be_visible()
        assert order() == moved
        assert page.frame.locator("[data-column=tensor]").bounding_box()["width"] == pytest.approx(
            width + 24, abs=2
        )
        page.click("list-columns")
        page.click("list-columns-reset")
        assert order() == [one for one in before if one != "occurrence"]


def _things(page):
    """The text of each cell of the rows that are seen, from above, by column."""
    heads = page.frame.locator(".list-head").evaluate_all("heads => heads.map(head => head.dataset.column)")
    cells = page.part("things-row").evaluate_all(
        "rows => rows.map(row => [row.getBoundingClientRect().top,"
        " ...[...row.children].map(cell => cell.innerText.trim())])"
    )
    return [dict(zip(heads, row[1:], strict=True)) for row in sorted(cells)]


def _show(page, kind):
    page.part("list-kinds").select_option(label=kind)
    expect(page.part("things-row").first).to_be_visible()
    page.frame.wait_for_function("document.documentElement.dataset.idle === 'true'")


def test_the_run_has_lists_of_its_things_with_what_is_on_record_of_each(browser, program):
    rows, _ = program
    with _opened(browser, program) as page:
        expect(page.part("list-kinds").locator("option")).to_have_text(
            [
                *("Ops and more", "Ops", "Functions", "Layers", "Op types", "Lines", "Processes"),
                *("Dtypes", "Threads"),
            ]
        )
        for kind, fact in [
            *(("Functions", "function"), ("Layers", "layer"), ("Op types", "op_type"), ("Processes", "host")),
        ]:
            _show(page, kind)
            bad = Counter(row.facts[fact] for row in rows if row.facts["health"] == 2)
            computed = Counter(row.facts[fact] for row in rows)
            found = [one for one in _things(page) if one["computed"] != "0"]
            assert {one["name"]: (one["computed"], one["bad"]) for one in found} == {
                str(name or "none"): (str(computed[name]), str(bad[name])) for name in computed
            }
            assert [int(one["bad"]) for one in found] == sorted(bad.values(), reverse=True)


def test_an_op_opens_at_its_first_bad_tensor_by_mouse_and_keyboard(browser, program):
    rows, _ = program
    with _opened(browser, program) as page:
        _show(page, "Ops")
        expect(page.part("list-count")).to_have_text("10")
        page.part("head-name").click()
        expect(page.frame.locator("[data-column=name]")).to_have_attribute("aria-sort", "ascending")
        firsts = []
        for number in range(3):
            if number == 0:
                page.part("things-row").nth(0).click()
            else:
                page.frame.get_by_role("grid", name="Ops").press("ArrowDown")
            selected = page.frame.locator("[data-testid=things-row][aria-selected=true]")
            expect(selected).to_have_count(1)
            page.frame.wait_for_function("document.documentElement.dataset.idle === 'true'")
            firsts.append(int(page.page.url.split("p.debugger.trace=")[1].split("&")[0]))
        by_name = sorted(
            {(row.facts["op_name"], row.host, row.op): None for row in rows},
            key=lambda op: (op[0], *_recorded(op)),
        )
        assert firsts == [
            next(r.index for r in rows if (r.host, r.op) == op[1:] and r.facts["health"] == 2)
            for op in by_name[:3]
        ]


def _recorded(op):
    """Where an op is in the recording: the files of the hosts are read one after the other."""
    _, host, number = op
    return host, number


@pytest.mark.long
def test_a_thing_filters_the_long_list_and_the_filter_the_things(browser, program):
    rows, _ = program
    with _opened(browser, program) as page:
        _show(page, "Layers")
        of_layer = [row for row in rows if row.facts["layer"] == "dense_2"]
        page.part("things-row").filter(has_text="dense_2").click()
        assert _chips(page) == ["layer=dense_2"]
        expect(page.part("list-tab-graph_executions")).to_contain_text(f"{len(of_layer)} of {len(rows)}")
        _await_first(page, of_layer[0].index)
        _show(page, "Ops")
        assert {one["name"] for one in _things(page)} == {"dense_2/MatMul"}
        page.page.reload()
        expect(page.part("things-row")).to_have_count(2)
        assert _chips(page) == ["layer=dense_2"]
        expect(page.part("list-kinds")).to_have_value("ops")
        _show(page, "Functions")
        page.frame.get_by_role("grid", name="Functions").press("ArrowDown")
        # Enter on a head sorts, and opens nothing.
        page.part("head-computed").press("Enter")
        expect(page.frame.locator("[data-column=computed]")).to_have_attribute("aria-sort", "descending")
        assert _chips(page) == ["layer=dense_2"]
        page.frame.get_by_role("grid", name="Functions").press("Enter")
        assert _chips(page) == ["layer=dense_2", "fn=evaluate"]
        expect(page.part("list-tab-graph_executions")).to_have_attribute("aria-pressed", "true")


def test_what_only_python_ran_filters_the_executions(browser, program):
    with _opened(browser, program) as page:
        _show(page, "Op types")
        page.part("things-row").filter(has_text="evaluate").click()
        expect(page.part("list-tab-executions")).to_contain_text("50 of 100")
        assert _chips(page) == ["op=__inference_evaluate_7"]


def test_columns_of_things_are_chosen_and_their_rows_saved(browser, program, tmp_path):
    rows, _ = program
    with _opened(browser, program, "&p.debugger.list=lines&p.debugger.sort=name", width=1280) as page:
        page.click("list-columns")
        page.frame.locator(".menu-item").filter(has_text="smallest").click()
        page.page.keyboard.press("Escape")
        expect(page.frame.locator("[data-column=min]")).to_be_visible()
        assert {float(one["min"].replace("−", "-")) for one in _things(page)} == {-2.5}
        page.click("list-save")
        with page.page.expect_download() as download:
            page.part("save-csv").click()
        assert download.value.suggested_filename == "lines.csv"
        download.value.save_as(tmp_path / "csv")
        with (tmp_path / "csv").open(newline="") as file:
            lines = list(csv.DictReader(file))
        computed = Counter(row.facts["line"] for row in rows)
        assert [line["name"] for line in lines] == sorted(computed)
        assert {line["name"]: int(line["computed"]) for line in lines} == computed


def test_executions_are_a_list_too(browser, program):
    with _opened(browser, program) as page:
        page.click("list-tab-executions")
        expect(page.part("list-tab-executions")).to_contain_text("100")
        _add(page, "op:evaluate process:worker0")
        expect(page.part("list-tab-executions")).to_contain_text("25 of 100")
        page.part("executions-row").nth(2).click()
        index = page.part("executions-row").nth(2).get_attribute("data-index")
        expect(page.part("execution-card")).to_have_attribute("data-index", index)
        page.frame.get_by_role("grid", name="Executions").focus()
        page.page.keyboard.press("ArrowDown")
        expect(page.part("execution-card")).not_to_have_attribute("data-index", index)
        page.page.reload()
        expect(page.part("list-tab-executions")).to_contain_text("25 of 100")


def test_what_is_shown_is_saved_and_copied(browser, program, tmp_path):
    rows, _ = program
    expected = [row.index for row in reversed(rows) if row.facts["op_type"] == "Relu"]
    link = "&p.debugger.filter=op%3DRelu&p.debugger.sort=-index"
    with _opened(browser, program, link) as page:
        page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        expect(page.part("list-tab-graph_executions")).to_contain_text(f"{len(expected)} of")
        page.click("list-save")
        for name in ("csv", "parquet"):
            with page.page.expect_download() as download:
                page.part(f"save-{name}").click()
            assert download.value.suggested_filename == f"graph_executions.{name}"
            download.value.save_as(tmp_path / name)
        with (tmp_path / "csv").open(newline="") as file:
            lines = list(csv.DictReader(file))
        assert [int(line["index"]) for line in lines] == expected
        assert {line["op_type"] for line in lines} == {"Relu"}
        saved = duckdb.sql(f"SELECT index FROM read_parquet('{tmp_path / 'parquet'}')").fetchall()
        assert [index for (index,) in saved] == expected
        page.click("save-copy")
        expect(page.frame.get_by_text(f"Copied {len(expected)} rows.")).to_be_visible()
        text = page.page.evaluate("navigator.clipboard.readText()")
        copied = list(csv.DictReader(io.StringIO(text), delimiter="\t"))
        assert [int(line["index"]) for line in copied] == expected


@each_window
def test_nothing_is_wider_than_the_window_and_axe_finds_nothing(browser, program, scheme, width, height):
    with _opened(browser, program, scheme=scheme, width=width, height=height) as page:
        _add(page, "op=MatMul health:bad max>1")
        page.part("list-filter").fill("op")
        expect(page.part("filter-suggestion").first).to_be_visible()
        assert page.serious_violations() == []
        page.part("list-filter").press("Escape")
        page.click("list-columns")
        assert page.serious_violations() == []
        assert page.frame.evaluate("document.documentElement.scrollWidth") <= width
        page.page.keyboard.press("Escape")
        for kind in ("Ops", "Layers"):
            _show(page, kind)
            assert page.serious_violations() == []
            assert page.frame.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.tensorflow
def test_the_example_looks_like_the_guide(browser, example_address, keep_screenshot):
    link = "#debugger&p.debugger.filter=health%3Abad%20fn%3Across_entropy&p.debugger.sort=-neg_inf"
    with quiet_page(browser, f"{example_address}{link}", width=1280, height=800) as page:
        expect(page.part("filter-chip")).to_have_count(2)
        expect(page.part("graph-executions-row").first).to_be_visible()
        keep_screenshot(page.page, "lists-light")


def test_a_link_of_an_earlier_version_is_read(browser, program):
    with open_page(
        browser, f"{program[1]}/#debugger&p.debugger.host=worker1&p.debugger.layer=dense_1"
    ) as page:
        expect(page.part("filter-chip")).to_have_count(2)
        assert _chips(page) == ["process:worker1", "layer:dense_1"]
