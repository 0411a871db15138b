"""`tb_debugger_plugin/shell`: command lines and their answers, over runs made by hand."""

from __future__ import annotations

import pytest

from tb_debugger_plugin.errors import NotFoundError, UsageError
from tb_debugger_plugin.shell import words
from tb_debugger_plugin.shell.program import Leave
from tb_debugger_plugin.shell.screen import text_of
from tb_debugger_plugin.shell.shell import error_screen
from tb_debugger_plugin.shell.words import CommandLine
from tests.support.events import values_program
from tests.support.shells import error_of, lines_of, shell_over


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("logdir")
    with shell_over(values_program(logdir).close()) as shell:
        yield shell


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", CommandLine([])),
        ("  lt  -f has_inf_or_nan ", CommandLine(["lt", "-f", "has_inf_or_nan"])),
        ("pt Log:0[:, 3]", CommandLine(["pt", "Log:0[:, 3]"])),
        ("pt 'a b:0'", CommandLine(["pt", "a b:0"])),
        ('eval "`a:0` > 3"', CommandLine(["eval", "`a:0` > 3"])),
        ("eval np.sum(`a:0` > 3)", CommandLine(["eval", "np.sum(`a:0` > 3)"])),
        ("pt a:0 -r \"[[-inf, 0], [3, 'x']]\"", CommandLine(["pt", "a:0", "-r", "[[-inf, 0], [3, 'x']]"])),
        ("lt > out.txt", CommandLine(["lt"], "out.txt")),
        ("lt>out.txt", CommandLine(["lt"], "out.txt")),
        ("lt > 'my out.txt'", CommandLine(["lt"], "my out.txt")),
        ("pt a:0 @[3, 4]", CommandLine(["pt", "a:0"], None, (3, 4))),
        ("pt a:0 @3,4", CommandLine(["pt", "a:0"], None, (3, 4))),
    ],
)
def test_a_line_is_split_into_words(line, expected):
    assert words.parse(line) == expected


@pytest.mark.parametrize("line", ["pt 'a", "pt a[0", "lt >", "lt > a b", "pt a @[x]", "eval `a"])
def test_a_line_that_is_not_finished_is_refused(line):
    with pytest.raises(UsageError):
        words.parse(line)


def test_the_answer_of_an_empty_line_is_nothing(shell):
    assert shell.answer("  ") is None


def test_an_unknown_command_is_one_line_with_the_nearest_name(shell):
    assert error_of(shell.answer("lsit_tensors")) == (
        "ERROR: There is no command 'lsit_tensors'; did you mean `list_tensors`?"
    )


def test_an_error_is_one_line_whatever_name_is_in_it():
    (line,) = error_screen(NotFoundError("There is no feed x; there is a\nERROR: b\x1b[2J:0.")).lines
    assert text_of(line) == r"ERROR: There is no feed x; there is a\nERROR: b\x1b[2J:0."


def test_exit_leaves(shell):
    assert shell.answer("exit") == Leave(0)


def test_an_answer_goes_to_a_file(shell, tmp_path):
    expected = lines_of(shell.answer("lt"))
    assert lines_of(shell.answer(f"lt > {tmp_path / 'out'}")) == [f"Wrote output to {tmp_path / 'out'}"]
    assert (tmp_path / "out").read_text("utf-8").splitlines() == expected
