"""`docs/guide/train_in_a_session.py`: the tutorial of tfdbg, typed at a terminal, and what ends a session."""

from __future__ import annotations

import re
import shutil

import tensorflow as tf

from tb_debugger_plugin import tfdbg
from tests.support.at_terminal import AtTerminal
from tests.support.checkout import ROOT
from tests.support.scripted import Script
from tests.support.session_nets import Net

_PROGRAM = str(ROOT / "docs" / "guide" / "train_in_a_session.py")
_GUIDE = (ROOT / "docs" / "guide" / "sessions.md").read_text("utf-8")
_PROMPT = "tbdbg> "


def _program(folder, *options):
    environment = {
        name: str(folder / name) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")
    }
    return AtTerminal(_PROGRAM, "--debug", *options, TB_DEBUGGER_CACHE=str(folder / "tables"), **environment)


def test_the_tutorial_leads_to_the_line_that_made_the_first_bad_tensor(tmp_path):
    with _program(tmp_path) as program:

        def answer(line):
            program.type(line)
            return program.expect(_PROMPT)

        shown = program.expect(_PROMPT)
        assert "call #1: Session.run()" in shown and "x:0" in shown
        shown = answer("run")
        assert "43 dumped tensor(s)" in shown and "log_p:0" in shown
        shown = answer("run -f has_inf_or_nan")
        assert 'dumped tensor(s) passing filter "has_inf_or_nan"' in shown
        first = re.search(r"\] +\d+ +(\S+) +(\S+)\n", shown)
        assert first is not None and first.groups() == ("Log", "log_p:0")
        shown = answer("ni -t log_p")
        assert "train_in_a_session.py" in shown and "tf.math.log(p" in shown
        assert "train_in_a_session.py" in answer("ls -p train_in")
        assert "log_p" in answer(f"ps {_PROGRAM}")
        assert "Log" in answer("why")
        program.type("exit")
        program.expect("so the program ends")
        assert program.wait() == 1
    assert not list((tmp_path / "tables").iterdir())


def test_at_the_end_of_the_input_the_program_goes_on_and_the_fix_of_the_tutorial_holds(tmp_path):
    with _program(tmp_path, "--fixed") as program:
        program.expect(_PROMPT)
        program.type("\x04")
        program.expect(r"loss after 20 steps: [\d.]+\n")
        assert program.wait() == 0


def test_a_closed_terminal_does_not_end_the_program(tmp_path):
    with _program(tmp_path, "--fixed") as program:
        program.expect(_PROMPT)
        program.hang_up()
        assert program.wait() == 0


def test_ctrl_c_twice_leaves_the_shell_and_ends_the_program(tmp_path):
    with _program(tmp_path) as program:
        program.expect(_PROMPT)
        program.interrupt()
        program.expect(_PROMPT)
        program.interrupt()
        program.expect("so the program ends")
        assert program.wait() == 1


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
