"""`docs/guide/train_in_a_session.py`: the tutorial of tfdbg, typed at a terminal, and what ends a session."""

from __future__ import annotations

import re
import shutil

import pytest
import tensorflow as tf

from tb_debugger_plugin import tfdbg
from tests.support.checkout import ROOT
from tests.support.scripted import Script
from tests.support.session_nets import Net
from tests.support.terminal import python_at_terminal

_PROGRAM = str(ROOT / "docs" / "guide" / "train_in_a_session.py")
_GUIDE = (ROOT / "docs" / "guide" / "sessions.md").read_text("utf-8")
_PROMPT = "tbdbg> "


def _program(folder, *options):
    return python_at_terminal(folder, _PROGRAM, "--debug", *options)


def test_the_tutorial_leads_to_the_line_that_made_the_first_bad_tensor(tmp_path):
    with _program(tmp_path) as program:

        def answer(line):
            program.send(f"{line}\n")
            return program.expect(_PROMPT)

        shown = program.expect(_PROMPT)
        assert "call #1: Session.run()" in shown and "x:0" in shown
        shown = answer("run")
        assert "43 dumped tensor(s)" in shown and "log_p:0" in shown
        shown = answer("run -f has_inf_or_nan")
        assert 'dumped tensor(s) passing filter "has_inf_or_nan"' in shown
        first = re.search(r"\] +\d+ +(\S+) +(\S+)\s", shown)
        assert first is not None and first.groups() == ("Log", "log_p:0")
        assert "-inf" in answer("pt log_p:0 -s")
        assert "shape: (8, 3)" in answer("pt p")
        shown = answer("ni -t log_p")
        assert "train_in_a_session.py" in shown and "tf.math.log(p" in shown
        assert "train_in_a_session.py" in answer("ls -p train_in")
        assert "log_p" in answer(f"ps {_PROGRAM}")
        assert "shape: (8, 4)" in answer("pf x:0")
        assert "the logarithm of 0" in answer("why")
        program.send("exit\n")
        program.expect("so the program ends")
        assert program.end() == 1
    assert not list((tmp_path / "tables").iterdir())


@pytest.mark.long
def test_at_the_end_of_the_input_the_program_goes_on_and_the_fix_of_the_tutorial_holds(tmp_path):
    with _program(tmp_path, "--fixed") as program:
        program.expect(_PROMPT)
        program.send("\x04")
        program.expect("loss after 20 steps: ")
        assert program.end() == 0
        assert "nan" not in program.shown.rpartition("steps: ")[2]


@pytest.mark.long
def test_a_closed_terminal_does_not_end_the_program(tmp_path):
    with _program(tmp_path, "--fixed") as program:
        program.expect(_PROMPT)
        program.hang_up()
        assert program.end() == 0


@pytest.mark.long
def test_ctrl_c_twice_leaves_the_shell_and_ends_the_program(tmp_path):
    with _program(tmp_path) as program:
        program.expect(_PROMPT)
        program.send("\x03")
        program.expect(_PROMPT)
        program.send("\x03")
        program.expect("so the program ends")
        assert program.end() == 1


def test_the_code_of_the_guide_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    net = Net()
    wrap, add_filter, *others = re.findall(r"^```python\n(?!#)(.*?)^```", _GUIDE, re.MULTILINE | re.DOTALL)
    with net.graph.as_default(), net.session() as session:
        names = {"tfdbg": tfdbg, "session": session, "tf": tf, "train": net.init}
        exec(wrap + add_filter, names)
        names["session"] = session
        for code in others:
            exec(
                code.replace("LocalCLIDebugHook()", "LocalCLIDebugHook(ui_type=Script())"),
                names | {"Script": Script},
            )
            shutil.rmtree("dumps")


def test_the_guide_names_each_public_name():
    ours = [name for name in tfdbg.__all__ if name.endswith(("Session", "Hook", "Options"))]
    assert ours and [name for name in ours if name not in _GUIDE] == []
