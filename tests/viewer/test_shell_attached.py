"""`shell/commands/live.py`: the shell steers a running program, and looks at what it holds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tb_debugger_plugin.live.viewer.attached import AttachedPrograms
from tb_debugger_plugin.shell.commands.table import COMMANDS
from tb_debugger_plugin.shell.screen import Mood, text_of
from tb_debugger_plugin.shell.shell import Shell
from tests.support.checkout import ROOT
from tests.support.events import small_program
from tests.support.live_program import KINDS, LOSS, ScriptedProgram, served
from tests.support.shells import error_of, lines_of

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[ScriptedProgram]:
    recording = small_program(tmp_path / "train")
    recording.close()
    program = ScriptedProgram(ops=(*LOSS, *KINDS))
    with served(program, tmp_path / "train", files=recording.files.prefix):
        yield program


@contextmanager
def shell_at(logdir: Path) -> Iterator[Shell]:
    """A shell that is attached to the programs below a logdir."""
    with closing(AttachedPrograms(logdir)) as attached, Shell(COMMANDS, logdir, attached=attached) as shell:
        yield shell


@pytest.fixture
def shell(tmp_path: Path, program: ScriptedProgram) -> Iterator[Shell]:
    with shell_at(tmp_path) as shell:
        yield shell


def test_the_shell_says_where_the_program_is_and_counts_as_a_debugger(shell, program):
    assert lines_of(shell.answer("live"))[1:] == [
        "waiting in loss (call 0)",
        "Waiting for a debugger before loss (call 0).",
    ]
    assert program.wait_for_followers(1)


def test_threads_are_named_where_there_are_several(tmp_path):
    small_program(tmp_path / "train").close()
    threaded = ScriptedProgram(threads=("worker-0", "worker-1"))
    with served(threaded, tmp_path / "train"), shell_at(tmp_path) as shell:
        lines = lines_of(shell.answer("step"))
    assert lines[1] == "paused in loss (call 0, worker-0)"
    assert lines[-2:] == ["worker-0 is held in loss (call 0)", "worker-1 is held in loss (call 1)"]


def test_the_program_is_stepped_to_tensors_and_calls(shell):
    lines = lines_of(shell.answer("step"))
    assert lines[1:3] == ["paused in loss (call 0)", "The next tensor is x:0."]
    assert lines[3].startswith("at x:0  size 2, zero 1, pos 1, max 1") and "/home/me/train.py:3" in lines[3]
    assert "at Log:0" in "\n".join(lines_of(shell.answer("s")))
    assert lines_of(shell.answer("over"))[1:3] == ["paused in loss (call 1)", "Before loss (call 1)."]
    assert lines_of(shell.answer("out"))[1:3] == ["paused in loss (call 1)", "Paused after loss (call 1)."]


def test_the_program_goes_on_until_something_happens(shell, program):
    assert "mul:0" in "\n".join(lines_of(shell.answer('cont --until "nan > 0"')))
    assert "call 3" in lines_of(shell.answer("cont -c 3"))[1]
    assert "Reached Log:0." in lines_of(shell.answer("c Log:0"))
    assert error_of(shell.answer("cont -c 0")) == "ERROR: -c is 0; give a whole number from 1 on."
    assert shell.answer("pause") is not None


def test_breakpoints_are_set_listed_hit_and_removed(shell):
    assert lines_of(shell.answer("breaks")) == ["There are no breakpoints."]
    lines = lines_of(shell.answer('break Log:0 --if "ninf > 0"'))
    assert [line.split() for line in lines] == [
        ["Break", "Hits", "Tensors", "Where", "If"],
        ["1", "0", "1", "Log:0", "ninf", ">", "0"],
    ]
    shell.answer("break /home/me/train.py:3 --ignore 1000")
    shell.answer("break -t Mul -l dense")
    lines = lines_of(shell.answer("break --calls -g evaluate"))
    assert ["2", "0", "14", "/home/me/train.py:3"] == lines[2].split()
    assert "type Mul, layer dense" in lines[3] and "No tensor of the program fits it." in lines[3]
    assert "calls, function evaluate" in lines[4]
    lines = lines_of(shell.answer("cont"))
    assert "ninf > 0: Log:0 of loss, train.py:3." in lines
    assert len(lines_of(shell.answer("unbreak 1"))) == 4
    assert error_of(shell.answer("unbreak 9")) == "ERROR: There is no breakpoint 9."
    assert "Say where" in error_of(shell.answer("break"))
    assert "is no condition" in error_of(shell.answer("break Log --if 'nan > ;'"))


def test_a_log_point_is_set_and_its_hits_are_listed(shell):
    assert "only logs" in lines_of(shell.answer("break Log:0 --log"))[1]
    assert lines_of(shell.answer("breaks 1")) == ["It was not hit yet."]
    shell.answer("over")
    shell.answer("over")
    head, *hits = lines_of(shell.answer("breaks 1"))
    assert head.split() == ["Time", "Call", "Step", "What", "Numbers"]
    assert [line.split()[1:4] for line in hits] == [["1", "0", "Log:0"], ["0", "0", "Log:0"]]
    assert "ninf 1" in hits[0]
    assert "no log point 2" in error_of(shell.answer("breaks 2"))


def test_a_value_at_hand_comes_from_the_program(shell, program):
    for _ in range(3):
        shell.answer("step")
    text = "\n".join(lines_of(shell.answer("pt Log:0")))
    assert "(in the program)" in text and "-inf" in text and "dtype: float32" in text
    assert "nan" in "\n".join(lines_of(shell.answer("pt mul[0, 0]")))
    assert "-inf" in "\n".join(lines_of(shell.answer("eval 'np.min(`Log:0`)'")))
    # Not computed yet in this call: what the recording has of it.
    assert "in the program" not in "\n".join(map(text_of, shell.answer("pt Mean:0").lines))


def test_strings_and_slices_of_large_values_come_from_the_program(shell):
    shell.answer("cont nothing")
    assert "(8, 32, 32, 16)" in "\n".join(lines_of(shell.answer("pt big -s")))
    assert "2047" in "\n".join(lines_of(shell.answer("pt 'big[0, 3, 31, 15]'")))
    assert "'é'" in "\n".join(lines_of(shell.answer("pt strings"))) or "\\xc3" in "\n".join(
        lines_of(shell.answer("pt strings"))
    )


def test_an_expression_that_fails_in_the_program_is_an_error(shell):
    shell.answer("step")
    assert error_of(shell.answer("eval '`x:0` + nobody'")).startswith("ERROR: ")


def test_the_program_is_detached_and_ended(shell, program):
    assert lines_of(shell.answer("detach"))[1].startswith("detached")
    assert lines_of(shell.answer("stop"))[1].startswith("ended")
    assert error_of(shell.answer("step")).startswith("ERROR: The program has ended")


def test_a_command_that_the_program_refuses_is_an_error(tmp_path):
    with served(ScriptedProgram(read_only=True), tmp_path), shell_at(tmp_path) as shell:
        assert error_of(shell.answer("step")) == "ERROR: The program takes no commands (read_only)."
        screen = shell.answer("live")
        assert screen.mood is Mood.BEFORE_CALL


def test_one_of_several_programs_is_chosen(tmp_path):
    first, second = ScriptedProgram(), ScriptedProgram(name="evaluate")
    with (
        served(first, tmp_path / "a", argv=("a.py", "x"), started=1.0),
        served(second, tmp_path / "b", argv=("b.py",), started=2.0),
        shell_at(tmp_path) as shell,
    ):
        lines = lines_of(shell.answer("live"))
        assert lines[0] == "2 programs; `live N` chooses one:"
        assert "b.py" in lines[3] and "a.py x" in lines[4]
        assert "`live N` chooses one" in error_of(shell.answer("step"))
        assert "a.py x" in lines_of(shell.answer("live 1"))[0]
        assert "call 0" in lines_of(shell.answer("step"))[1]
        assert len(first.commands) == 1 and not second.commands
        assert error_of(shell.answer("live 2")) == "ERROR: There is no program 2; there are 2."


def test_a_logdir_without_programs_is_a_sentence(tmp_path):
    with shell_at(tmp_path) as shell:
        assert lines_of(shell.answer("live")) == ["No program with breakpoints runs below the logdir."]
        assert "No program with breakpoints" in error_of(shell.answer("step"))


def test_a_shell_that_is_not_attached_says_how_to(tmp_path):
    with Shell(COMMANDS, tmp_path) as shell:
        assert "--attach" in error_of(shell.answer("step"))
        assert "step" not in [command.name for command in shell.commands()]


def test_the_command_line_joins_a_program_and_leaves_it(tmp_path, program):
    command = [
        *(sys.executable, "-c", "import sys; from tb_debugger_plugin.cli.main import main; sys.exit(main())"),
        *("shell", "--attach", str(tmp_path), "-c", "step", "-c", "pt x:0", "-c", "run_info"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "paused in loss (call 0)" in done.stdout and "(in the program)" in done.stdout
    assert program.wait_for_followers(0)
