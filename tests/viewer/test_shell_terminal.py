"""`cli/shell.py`: `tbdbg shell` at a terminal, on a full screen and in plain lines, and without one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.checkout import ROOT
from tests.support.events import values_program
from tests.support.terminal import Terminal

_TBDBG = [sys.executable, "-c", "import sys; from tb_debugger_plugin.cli.main import main; sys.exit(main())"]
_ANSWER = '3 dumped tensor(s) passing filter "has_inf_or_nan"'
#: A program that stops once, asks what to do, and goes on.
_PROGRAM = """
import signal, sys, threading
from tb_debugger_plugin.events.locations import location
from tb_debugger_plugin.shell.program import Call
from tb_debugger_plugin.shell.commands.table import COMMANDS
from tb_debugger_plugin.shell.shell import Shell
from tb_debugger_plugin.shell.ui.converse import converse

def handlers():
    return [signal.getsignal(one) for one in signal.valid_signals()]

before = handlers()
shell = Shell(COMMANDS, location(sys.argv[1]), call=Call(1, "step()", True))
threading.Timer(0.5, lambda: print("a line of a thread")).start()
answer = converse(shell, ui=sys.argv[2])
shell.close()
same = handlers() == before and sys.stdout is sys.__stdout__
with open(sys.argv[3], "w") as out:
    out.write(f"{type(answer).__name__} {same}")
print("the program ends")
sys.exit(7)
"""


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("logdir")
    values_program(logdir).close()
    return logdir


@pytest.fixture
def state(tmp_path):
    return {"XDG_STATE_HOME": str(tmp_path / "state")}


def history(state: dict[str, str]) -> list[str]:
    with open(f"{state['XDG_STATE_HOME']}/tb_debugger_plugin/shell_history", encoding="utf-8") as file:
        return file.read().splitlines()


def test_plain_lines_are_completed_cleared_and_left(logdir, state):
    with Terminal([*_TBDBG, "shell", str(logdir), "--ui", "plain"], state) as terminal:
        at = terminal.wait_for("tbdbg> ")
        terminal.send("lt -f has\t\r")
        at = terminal.wait_for("tbdbg> ", terminal.wait_for(_ANSWER, at))
        terminal.send("nonsense\x03")
        at = terminal.wait_for("tbdbg> ", terminal.wait_for("Ctrl-C again leaves", at))
        terminal.send("lt \x1b[A")
        at = terminal.wait_for("lt -f has_inf_or_nan", at)
        terminal.send("\r")
        terminal.wait_for("tbdbg> ", terminal.wait_for(_ANSWER, at))
        terminal.send("\x04")
        assert terminal.end() == 0
    assert history(state) == ["lt -f has_inf_or_nan"]


@pytest.mark.parametrize(
    ("columns", "rows", "exported"), [(80, 24, {}), (40, 10, {}), (60, 12, {"COLUMNS": "60", "LINES": "12"})]
)
def test_a_full_screen_is_chosen_at_a_terminal(logdir, state, columns, rows, exported):
    state.update(exported)
    with Terminal([*_TBDBG, "shell", str(logdir)], state, columns, rows) as terminal:
        terminal.wait_for("tbdbg> ")
        terminal.send("lt -f has\t\r")
        at = terminal.wait_for("3 dumped tensor(s)")
        terminal.send("/Pack\r")
        at = terminal.wait_for("Pattern not found: /Pack", at)
        terminal.send("abc\x03\x03")
        at = terminal.wait_for("Ctrl-C again leaves", at)
        terminal.resize(columns + 10, rows + 2)
        terminal.wait_for("3 dumped tensor(s)", at)
        terminal.send("mouse off\r")
        terminal.wait_for("Mouse: OFF", at)
        terminal.send("\x04")
        assert terminal.end() == 0
        assert terminal.raw.count("\x1b[?1049h") == terminal.raw.count("\x1b[?1049l") == 1
    assert history(state) == ["lt -f has_inf_or_nan", "/Pack", "mouse off"]


@pytest.mark.parametrize("ui", ["full", "plain"])
def test_ctrl_c_twice_leaves(logdir, state, ui):
    with Terminal([*_TBDBG, "shell", str(logdir), "--ui", ui], state) as terminal:
        terminal.wait_for("tbdbg> ")
        # While an answer is made, Ctrl-C leaves it aside.
        terminal.wait_for("recorder: ")
        terminal.send("\x03")
        at = terminal.wait_for("Ctrl-C again leaves")
        if ui == "plain":
            # Until readline waits for keys, Python does not see the signal before the next key.
            terminal.wait_for("tbdbg> ", at)
        terminal.send("\x03")
        assert terminal.end() == 0


@pytest.mark.parametrize("ui", ["full", "plain"])
def test_a_closed_terminal_ends_the_shell(logdir, state, ui):
    with Terminal([*_TBDBG, "shell", str(logdir), "--ui", ui], state) as terminal:
        terminal.wait_for("tbdbg> ")
        terminal.hang_up()
        terminal.end()


@pytest.mark.parametrize("ui", ["full", "plain"])
@pytest.mark.parametrize(
    ("keys", "answer"), [("\x04", "Detach"), ("exit\r", "Leave"), (None, "Detach")], ids=str
)
def test_a_stopped_program_goes_on_as_it_was(logdir, state, tmp_path, ui, keys, answer):
    result = tmp_path / "result"
    with Terminal([sys.executable, "-c", _PROGRAM, str(logdir), ui, str(result)], state) as terminal:
        terminal.wait_for("tbdbg> ")
        if keys is None:
            terminal.hang_up()
        else:
            terminal.send(keys)
        assert terminal.end() == 7
        if keys is not None:
            terminal.wait_for("the program ends")
            terminal.wait_for("a line of a thread")
    assert result.read_text() == f"{answer} True"


def test_plain_lines_take_over_from_a_screen_that_fails(logdir, state):
    program = """
import sys
from tb_debugger_plugin.cli.main import main
from tb_debugger_plugin.shell.ui.full_screen.output import Output

def fail(output, y):
    raise RuntimeError("no paint")

Output.render_line = fail
sys.exit(main())
"""
    with Terminal([sys.executable, "-c", program, "shell", str(logdir)], state) as terminal:
        at = terminal.wait_for("The full screen failed, so these are plain lines")
        terminal.wait_for("tbdbg> ", at)
        assert terminal.raw.count("\x1b[?1049h") == terminal.raw.count("\x1b[?1049l") == 1
        terminal.send("ver\r")
        terminal.wait_for("numpy", at)
        terminal.send("exit\r")
        assert terminal.end() == 0


@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"TERM": ""}])
def test_a_terminal_that_cannot_move_its_cursor_has_plain_lines(logdir, state, variables):
    with Terminal([*_TBDBG, "shell", str(logdir)], {**state, **variables}) as terminal:
        terminal.wait_for("tbdbg> ")
        terminal.send("ver\r")
        terminal.wait_for("tbdbg> ", terminal.wait_for("numpy"))
        terminal.send("\x04")
        assert terminal.end() == 0
        assert "\x1b[?1049h" not in terminal.raw


def test_a_pipe_has_plain_lines_without_prompts(logdir):
    done = subprocess.run(
        [*_TBDBG, "shell", str(logdir), "--ui", "full"],
        input="lt -f has_inf_or_nan\nnonsense\nprev\n",
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0
    assert _ANSWER in done.stdout and "tbdbg>" not in done.stdout and "\x1b" not in done.stdout
    assert "prev needs the full screen" in done.stdout
    assert done.stderr == "tbdbg: The full screen needs a terminal, so these are plain lines.\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["-c", "ver"], 0), (["-c", "nonsense", "-c", "ver"], 1), (["--ui", "none"], 2), (["-c", "exit"], 0)],
)
def test_a_script_gets_an_exit_code(logdir, arguments, code):
    done = subprocess.run(
        [*_TBDBG, "shell", str(logdir), *arguments], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == code, done.stderr
    assert code == 0 or "numpy" not in done.stdout
