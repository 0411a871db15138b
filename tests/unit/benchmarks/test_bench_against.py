"""`benchmarks/against.py`: what counts as worse, and which commit is compared with."""

from __future__ import annotations

import subprocess
from io import StringIO

import pytest
from rich.console import Console

from benchmarks.against import Row, default_base, table


def row(base: list[float], head: list[float], again: list[float]) -> Row:
    return Row("index", "s", {"base": base, "head": head, "again": again})


def test_what_takes_more_than_the_base_beside_itself_is_worse() -> None:
    assert row([1.0, 2.0, 1.0], [1.2, 2.4, 1.2], [1.0, 2.1, 1.0]).is_worse()


def test_what_differs_no_more_than_the_base_from_itself_is_not_worse() -> None:
    assert not row([1.0, 2.0, 1.0], [1.2, 2.4, 1.2], [1.0, 2.6, 1.0]).is_worse()


def test_five_per_cent_are_not_worse_even_without_noise() -> None:
    assert not row([1.0, 1.0], [1.05, 1.05], [1.0, 1.0]).is_worse()


def test_ratios_are_taken_within_a_round() -> None:
    each = row([1.0, 10.0, 1.0], [1.1, 11.0, 1.1], [1.0, 10.0, 1.2])
    assert each.ratio() == pytest.approx(1.1)
    assert each.noise() == pytest.approx((1.0, 1.2))


def test_a_step_is_shown_as_a_multiple_of_the_unrecorded_one() -> None:
    each = row([0.3], [0.36], [0.3])
    each.unit = "x"
    each.plain = {"base": [0.2], "head": [0.3], "again": [0.2]}
    assert (each.shown("base"), each.shown("head")) == ("1.50 x", "1.20 x")


def test_the_table_marks_what_is_worse() -> None:
    console = Console(width=100, force_terminal=True, color_system="standard", file=StringIO())
    console.print(table("", [row([1.0], [1.5], [1.0]), row([1.0], [1.0], [1.0])]))
    assert isinstance(console.file, StringIO)
    marked = [line for line in console.file.getvalue().splitlines() if "\x1b[31m" in line]
    assert len(marked) == 1
    assert "1.50" in marked[0]


def answering(**answers: str) -> object:
    def git(verb: str, *_: str) -> str:
        if verb == "rev-parse" and "HEAD~1" in _:
            return answers["before"]
        if (answer := answers.get(verb.replace("-", "_"))) is None:
            raise subprocess.CalledProcessError(128, "git")
        return answer

    return git


@pytest.mark.parametrize(
    ("answers", "base"),
    [
        ({"merge_base": "left", "rev_parse": "here", "before": "before"}, "left"),
        ({"merge_base": "here", "rev_parse": "here", "before": "before"}, "before"),
        ({"rev_parse": "here", "before": "before"}, "before"),
    ],
    ids=["on a branch", "on main", "without a remote"],
)
def test_the_base_is_where_the_branch_began_or_the_commit_before(answers: dict[str, str], base: str) -> None:
    assert default_base(answering(**answers)) == base  # type: ignore[arg-type]
