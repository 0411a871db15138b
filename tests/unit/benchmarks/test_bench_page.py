"""`benchmarks/page.py`: which figures are shown of what was measured, and when a bound is kept."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

pytest.importorskip("playwright.sync_api", reason="the page is measured by Playwright")

from benchmarks.page import Row, table


def lines(*rows: Row, is_coloured: bool = False) -> list[str]:
    """The lines of the table that have a figure."""
    system = "standard" if is_coloured else None
    console = Console(width=140, force_terminal=is_coloured, color_system=system, file=StringIO())
    console.print(table(rows))
    assert isinstance(console.file, StringIO)
    return [line for line in console.file.getvalue().splitlines() if any(row.what in line for row in rows)]


def cells(row: Row) -> list[str]:
    return [cell.strip() for cell in lines(row)[0].split("│")[1:-1]]


def test_a_row_has_the_median_and_the_95th_percentile() -> None:
    row = Row("sort", "ms", [*range(101)], 500, [7.0])
    assert cells(row) == ["sort", "ms", "50", "95", "500", "7"]


def test_frames_are_shown_as_a_rate_of_which_the_slowest_count() -> None:
    row = Row("scrolling", "frames/s", [10.0] * 90 + [20.0] * 10, 55)
    assert cells(row) == ["scrolling", "frames/s", "100", "! 50", "55", ""]


@pytest.mark.parametrize(
    ("unit", "values", "bound", "is_kept"),
    [
        ("ms", [90.0] * 20 + [500.0], 100, True),
        ("ms", [90.0] * 10 + [500.0] * 2, 100, False),
        ("frames/s", [1000 / 60] * 40 + [100.0], 55, True),
        ("frames/s", [1000 / 60] * 10 + [100.0] * 2, 55, False),
        ("kB", [130.0], 130, True),
        ("kB", [130.1], 130, False),
        ("MB", [1000.0], None, True),
    ],
)
def test_a_bound_is_kept_by_all_but_a_twentieth(
    unit: str, values: list[float], bound: float | None, is_kept: bool
) -> None:
    assert Row("any", unit, values, bound).is_kept() == is_kept


def test_one_value_is_shown_once_with_what_its_unit_needs() -> None:
    assert cells(Row("memory", "MB", [9.06]))[2:] == ["9.1", "", "", ""]
    assert cells(Row("first view", "s", [0.234], 1))[2:] == ["0.23", "", "1.00", ""]


def test_a_bound_that_is_not_kept_has_a_mark_and_a_colour() -> None:
    wrong, right = Row("slow", "ms", [600.0, 600.0], 500), Row("quick", "ms", [4.0, 4.0], 500)
    marked = [line for line in lines(wrong, right, is_coloured=True) if "\x1b[31m" in line]
    assert len(marked) == 1
    assert "! 600" in marked[0]
    assert "!" in lines(Row("too large", "kB", [131.0], 130))[0]


def test_what_was_not_measured_has_no_figure() -> None:
    assert cells(Row("first view", "s", [], 1))[2:] == ["", "", "1.00", ""]
