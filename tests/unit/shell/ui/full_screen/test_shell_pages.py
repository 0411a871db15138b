"""`shell/ui/full_screen`: pages, lines, searches and keys without a terminal."""

from __future__ import annotations

import re

import pytest

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.shell.screen import Part, Screen, Style, link, plain, text_of
from tb_debugger_plugin.shell.ui.full_screen.bars import fitting, in_columns
from tb_debugger_plugin.shell.ui.full_screen.pages import MAX_PAGES, MadeLines, Page, Pages
from tb_debugger_plugin.shell.ui.full_screen.search import compiled, found
from tb_debugger_plugin.shell.ui.full_screen.strips import Marks, strip_of
from tests.support.shells import NumberedLines


def page(name: str) -> Page:
    return Page.of(Screen([plain(name)]), name)


def names(pages: Pages, *steps: int) -> list[str | None]:
    moved = [pages.move(step) for step in steps]
    return [one.line if one is not None else None for one in moved]


def test_pages_are_shown_again_backwards_and_forwards():
    pages = Pages()
    for name in ("a", "b", "c"):
        pages.add(page(name))
    assert names(pages, -1, -1, -1, 1, 1, 1) == ["b", "a", None, "b", "c", None]


def test_a_new_page_forgets_those_after_it_and_the_oldest():
    pages = Pages()
    for name in ("a", "b", "c"):
        pages.add(page(name))
    pages.move(-2)
    pages.add(page("d"))
    assert names(pages, 1, -1) == [None, "a"]
    for number in range(MAX_PAGES):
        pages.add(page(str(number)))
    assert names(pages, -(MAX_PAGES - 1), -1) == ["0", None]


def test_a_line_is_made_once_and_only_when_it_is_painted():
    counting = NumberedLines(10_000_000)
    lines = MadeLines(counting)
    assert len(lines) == 10_000_000 and counting.made == 0
    assert text_of(lines[9_999_999]) == text_of(lines[9_999_999]) == "line 9999999"
    assert counting.made == 1


def test_the_lines_that_are_kept_stay_few():
    lines = MadeLines(NumberedLines(10_000))
    for number in range(10_000):
        assert text_of(lines[number]) == f"line {number}"
    assert len(lines._made) <= 2000


def test_a_line_that_cannot_be_made_says_so():
    class Closed(NumberedLines):
        def __getitem__(self, index):
            raise OSError("The run is closed.")

    (part,) = MadeLines(Closed(1))[0]
    assert part == Part("(this line cannot be read: The run is closed.)", Style.ERROR)


def test_control_characters_of_a_recording_are_escaped_and_long_lines_cut():
    lines = MadeLines([(Part("a\x1b[2Jb"), link("\n", "pt \n")), plain("x" * 100_000)])
    assert lines[0] == (Part("a\\x1b[2Jb"), Part("\\n", Style.PLAIN, "pt \n"))
    assert len(text_of(lines[1])) == 10_001


@pytest.mark.parametrize(
    ("begin", "step", "expected"),
    [
        (0, 1, 300),
        (300, 1, 300),
        (301, 1, 700),
        (701, 1, 300),
        (999, -1, 700),
        (699, -1, 300),
        (299, -1, 700),
    ],
)
def test_a_search_goes_on_around_the_ends(begin, step, expected):
    lines = MadeLines([plain("hit" if number in (300, 700) else "") for number in range(1000)])
    (*before, last) = found(lines, re.compile("hit"), begin, step)
    assert last.line == expected and all(one.line is None for one in before)


def test_a_search_in_vain_has_looked_at_every_line():
    counting = NumberedLines(1000)
    *_, last = found(MadeLines(counting), re.compile("hit"), 400, 1)
    assert (last.line, last.done, counting.made) == (None, 1000, 1000)
    assert list(found(MadeLines([]), re.compile("hit"), 0, 1)) == []


def test_what_is_no_regular_expression_is_refused():
    with pytest.raises(UsageError, match="no regular expression"):
        compiled("(")


def test_matches_are_marked_across_the_parts_of_a_line():
    strip = strip_of((Part("ab"), link("cd", "help")), Marks(re.compile("bc")))
    marked = [one.text for one in strip if one.style is not None and one.style.bgcolor is not None]
    assert strip.text == "abcd" and marked == ["b", "c"]


def test_text_of_a_recording_is_no_markup():
    assert (
        strip_of((Part("[red]x[/red] [@click=app.quit]y[/]"),)).text == "[red]x[/red] [@click=app.quit]y[/]"
    )


def test_candidates_stand_in_columns_and_the_rest_is_counted():
    lines = in_columns([f"name{number}" for number in range(9)], 21, 2, 12)
    assert [text_of(line) for line in lines] == ["name0  name1  name2  ", "name3  name4  and 7 more"]


def test_a_status_line_leaves_out_what_has_no_room():
    assert fitting(("a message", "", "Scroll: 10%", "run"), 20) == "a message | run"
    assert fitting(("a long message", "run"), 6) == "a lon…"
