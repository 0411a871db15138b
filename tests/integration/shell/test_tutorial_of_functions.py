"""`docs/guide/train_a_net.py`: the tutorial of tfdbg, typed at a terminal, around a loop and around Keras.

Also `tbdbg run`: the program that it runs is the user's, with its arguments and its exit status.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.checkout import ROOT
from tests.support.terminal import python_at_terminal

_PROGRAM = str(ROOT / "docs" / "guide" / "train_a_net.py")
_PROMPT = "tbdbg> "
_TBDBG = ("-c", "import sys; from tb_debugger_plugin.cli.main import main; sys.exit(main())")

_SAYS_WHAT_IT_SEES = """
import os, sys
print("TensorFlow is there:", "tensorflow" in sys.modules)
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
print(__name__, sys.argv, sys.path[0], __file__, sys.modules["__main__"].__dict__ is globals())
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
print("result", float(tf.function(lambda x: tf.math.log(x))(tf.constant(0.0))))
sys.exit(7)
"""


@pytest.mark.parametrize(
    ("arguments", "name", "function", "log"),
    [
        ((*_TBDBG, "run", "--shell", "--ui", "plain", _PROGRAM), "train_step", "train_step", "log_p"),
        (
            (_PROGRAM, "--keras", "--debug"),
            "multi_step_on_iterator",
            "cross_entropy",
            "compile_loss/cross_entropy/log_p",
        ),
    ],
    ids=["loop", "Keras"],
)
def test_the_tutorial_leads_to_the_line_that_made_the_first_bad_tensor(
    tmp_path: Path, arguments: tuple[str, ...], name: str, function: str, log: str
) -> None:
    with python_at_terminal(tmp_path, *arguments) as program:

        def answer(line: str) -> str:
            program.send(f"{line}\n")
            return program.expect(_PROMPT)

        assert f"call #1: {name}" in program.expect(_PROMPT)
        program.send("\x03")  # clears the line
        program.expect(_PROMPT)
        assert f"{log}:0" in answer("run")
        shown = answer("run -f has_inf_or_nan")
        assert 'dumped tensor(s) passing filter "has_inf_or_nan"' in shown and f"{log}:0" in shown
        assert "-inf" in answer(f"pt {log}:0")
        assert "train_a_net.py" in (shown := answer(f"ni -t {log}")) and "cross_entropy" in shown
        assert "tf.math.log(probabilities" in answer("why")
        program.send("exit\n")
        program.expect("so the program ends")
        assert program.end() == 1
    assert not list(tmp_path.glob("tbdbg-*"))
    assert not list((tmp_path / "tables").iterdir())


@pytest.mark.long
def test_with_the_fix_no_call_stops_and_a_closed_terminal_ends_nothing(tmp_path: Path) -> None:
    with python_at_terminal(
        tmp_path, *_TBDBG, "run", "--shell", "--ui", "plain", _PROGRAM, "--fixed"
    ) as program:
        program.expect(_PROMPT)
        program.send("run -f has_inf_or_nan\n")
        program.expect("loss after 20 steps: ")
        assert program.end() == 0
    with python_at_terminal(tmp_path, *_TBDBG, "run", "--shell", _PROGRAM, "--fixed") as program:
        program.expect(_PROMPT)
        program.hang_up()
        assert program.end() == 0


def _tbdbg(*arguments: str, typed: str = "", folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *_TBDBG, *arguments],
        input=typed,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TB_DEBUGGER_CACHE": str(folder / "tables")},
    )


@pytest.mark.long
def test_a_script_is_the_main_program_and_its_exit_status_is_kept(tmp_path: Path) -> None:
    script = tmp_path / "scripts" / "program.py"
    script.parent.mkdir()
    script.write_text(_SAYS_WHAT_IT_SEES)
    ran = _tbdbg(*("run", "--shell", "scripts/program.py", "--rate", "3"), folder=tmp_path)
    assert ran.returncode == 7, ran.stderr
    assert ran.stdout.splitlines() == [
        "TensorFlow is there: False",
        f"__main__ ['scripts/program.py', '--rate', '3'] {script.parent} {script} True",
        "result -inf",
    ]
    # The shell needs a terminal.
    assert ran.stderr.count("There is no terminal") == 1


@pytest.mark.long
def test_a_module_is_recorded_and_its_exception_is_its_own(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    body = _SAYS_WHAT_IT_SEES.replace("sys.exit(7)", "raise LookupError('of the program')")
    (tmp_path / "package" / "__main__.py").write_text(body)
    ran = _tbdbg("run", "--logdir", "log", "--mode", "CURT_HEALTH", "-m", "package", "x", folder=tmp_path)
    assert ran.returncode == 1
    assert "LookupError: of the program" in ran.stderr
    assert f"'{tmp_path / 'package' / '__main__.py'}', 'x'" in ran.stdout
    import tb_debugger_plugin

    with tb_debugger_plugin.open_run(tmp_path / "log") as run:
        assert [row.op_type for row in run.graph_executions(health="bad")] == ["Log"]
