"""`shell/completion.py`: what the word at the cursor may become."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from tb_debugger_plugin.events.locations import location
from tb_debugger_plugin.shell.command import Command, Completes
from tb_debugger_plugin.shell.completion import MAX_CANDIDATES, Completions, complete
from tb_debugger_plugin.shell.program import Call
from tb_debugger_plugin.shell.screen import Screen
from tb_debugger_plugin.shell.shell import Shell
from tests.support.events import Recording, values_program


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?")
    parser.add_argument("-s", "--sort_by", choices=("size", "time"))
    parser.add_argument("-n", "--number", metavar="N")
    parser.add_argument("-a", "--all", action="store_true")
    parser.add_argument("-g", "--function", metavar="NAME")


def _show(what: Completes) -> Command:
    """A command named after what it completes."""
    options = (("-g", Completes.FUNCTION), ("--function", Completes.FUNCTION))
    return Command(
        f"show_{what.name.lower()}",
        (),
        "show",
        lambda shell, args: Screen(),
        _arguments,
        completes=what,
        option_completes=options,
    )


#: A command for each kind of thing that can be completed.
SHOWING = {"Show": [_show(what) for what in Completes]}


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("logdir")
    values_program(logdir / "run 1").close()
    call = Call(1, "Session.run()", False, feeds={"x:0": 1, "y:0": 2})
    with Shell(SHOWING, location(str(logdir)), call=call) as shell:
        yield shell


def candidates(shell: Shell, line: str) -> list[str]:
    return list(complete(shell, line, len(line)).candidates)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("show_te", ["show_tensor"]),
        ("show_tensor ", ["Log:0", "x:0"]),
        ("show_tensor L", ["Log:0"]),
        ("show_tensor og", ["Log:0"]),
        ("show_tensor Log:0[", []),
        ("show_node ", ["Log", "x"]),
        ("show_filter h", ["has_inf_or_nan"]),
        ("show_feed ", ["x:0", "y:0"]),
        ("show_source /home", ["/home/me/train.py"]),
        ("show_source train", ["/home/me/train.py"]),
        ("show_function ", ["loss"]),
        ("show_setting m", ["mouse_mode"]),
        ("show_run ", ["'run 1'"]),
        ("show_run 'ru", ["'run 1'"]),
        ("show_run run", ["'run 1'"]),
        ("show_nothing ", []),
        ("show_node -", ["--all", "--function", "--number", "--sort_by", "-a", "-g", "-n", "-s"]),
        ("show_node -a --a", ["--all"]),
        ("show_node -s ", ["size", "time"]),
        ("show_node -n ", []),
        ("show_node -g ", ["loss"]),
        ("show_node -a L", ["Log"]),
        ("show_tensor np.sum(`L", ["Log:0"]),
        ("show_tensor > L", []),
        ("no_such_command ", []),
    ],
)
def test_a_word_becomes_what_its_command_says(shell, line, expected):
    assert candidates(shell, line) == expected


def test_only_the_word_at_the_cursor_is_completed(shell):
    found = complete(shell, "show_node L -a", len("show_node L"))
    assert found == Completions(len("show_node "), ("Log",), "Log", 1, is_final=True)


def test_the_common_beginning_is_what_all_candidates_share(shell):
    found = complete(shell, "show_f", 6)
    assert (found.candidates, found.common) == (
        ("show_feed", "show_filter", "show_function"),
        "show_f",
    )
    assert complete(shell, "show_r", 6).common == "show_run"


def test_a_tensor_may_be_sliced_so_no_space_follows(shell):
    assert not complete(shell, "show_tensor L", 13).is_final
    assert complete(shell, "show_node L", 11).is_final


def test_a_shell_without_runs_completes_no_tensors(tmp_path):
    with Shell(SHOWING, location(str(tmp_path))) as shell:
        assert candidates(shell, "show_tensor ") == []
        assert candidates(shell, "show_filter ") == ["has_inf_or_nan"]


def shell_with_ops(folder: Path, names: list[str]) -> Shell:
    recording = Recording(folder)
    recording.graph("g1", "step")
    for number, name in enumerate(names):
        recording.op("g1", name, "Add", ids=[number])
    return Shell(SHOWING, location(str(recording.close())))


def test_sixty_thousand_ops_are_completed(tmp_path):
    names = [f"layer_{number % 100}/op_{number}" for number in range(60_000)]
    with shell_with_ops(tmp_path, names) as shell:
        assert complete(shell, "show_node layer", 15).total == 60_000
        found = complete(shell, "show_node layer_7/op_1", 22)
        only_inside = complete(shell, "show_node op_59999", 18)
    assert found.total == 111 and found.common == "layer_7/op_1"
    assert only_inside.candidates == ("layer_99/op_59999",)


def test_a_long_list_of_candidates_is_cut_but_counted(tmp_path):
    with shell_with_ops(tmp_path, [f"op_{number:04}" for number in range(MAX_CANDIDATES + 5)]) as shell:
        found = complete(shell, "show_node op", 12)
    assert (len(found.candidates), found.total, found.common) == (MAX_CANDIDATES, MAX_CANDIDATES + 5, "op_0")
