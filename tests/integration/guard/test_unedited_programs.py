"""`tfdbg/run_program.py`: programs are guarded that nobody edits for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_debugger_plugin import open_run
from tests.support.programs import run_apart

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(240)]

_PROGRAM = """
@tf.function
def log(x):
    return tf.math.log(x)

print([float(log(tf.constant(x))) for x in (1.0, 0.0, 1.0)])
"""
_TENSORFLOW, _OURS = "import tensorflow as tf\n", "import tb_debugger_plugin.keras\n"
_MAIN = "import sys; from tb_debugger_plugin.cli.main import main; sys.exit(main())"


def _write(folder: Path, *lines: str) -> str:
    path = folder / "train.py"
    path.write_text("".join([*lines, _PROGRAM]), "utf-8")
    return str(path)


def _check(run, logdir: Path) -> None:
    assert run.stdout == "[0.0, -inf, 0.0]\n"
    assert "A call of log (train.py:" in run.stderr
    assert "Log (tensor Log:0 in function log) produced" in str(open_run(logdir).why())


def test_tbdbg_run_guards_a_program(tmp_path: Path) -> None:
    logdir = tmp_path / "logs"
    _check(
        run_apart("-c", _MAIN, "run", "--guard", "--logdir", str(logdir), _write(tmp_path, _TENSORFLOW)),
        logdir,
    )


@pytest.mark.parametrize("imports", [(_TENSORFLOW, _OURS), (_OURS, _TENSORFLOW)], ids=["late", "early"])
def test_the_environment_guards_a_program_that_imports_the_package(tmp_path: Path, imports) -> None:
    logdir = tmp_path / "logs"
    _check(run_apart(_write(tmp_path, *imports), TB_DEBUGGER_GUARD=str(logdir)), logdir)


def test_a_folder_that_cannot_be_written_leaves_the_program_alone(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file", "utf-8")
    run = run_apart(_write(tmp_path, _OURS, _TENSORFLOW), TB_DEBUGGER_GUARD=str(tmp_path / "logs"))
    assert run.stdout == "[0.0, -inf, 0.0]\n"
    assert "This program is not guarded: " in run.stderr


def test_a_viewer_is_not_guarded(tmp_path: Path) -> None:
    lines = "import tensorboard.program, tb_debugger_plugin, tensorflow"
    run_apart("-c", lines, TB_DEBUGGER_GUARD=str(tmp_path / "logs"))
    assert not (tmp_path / "logs").exists()
