"""Records real programs into a folder, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.support import forked
from tests.support.checkout import ROOT
from tests.support.tensorflows_reader import check_every_file_set_below

EXAMPLE = "tb_debugger_plugin.examples.buggy_digits"

_WITH_TENSORFLOWS_RECORDER = f"""
import sys
import tensorflow as tf
from {EXAMPLE} import train
tf.debugging.experimental.enable_dump_debug_info(sys.argv[1], "FULL_HEALTH", circular_buffer_size=-1)
train(int(sys.argv[2]), fixed=False, report=lambda *_: None)
tf.debugging.experimental.disable_dump_debug_info()
"""


def record_example(folder: Path, *options: str) -> str:
    """Run the example with our recorder, check it with TensorFlow's reader, and return the printed text."""
    printed = run_python("-m", EXAMPLE, "--logdir", str(folder), *options)
    assert check_every_file_set_below(folder) == 1
    return printed


def record_example_with_tensorflow(folder: Path, *, steps: int) -> None:
    """Run the example with TensorFlow's own recorder, in mode FULL_HEALTH, without a circular buffer."""
    run_python("-c", _WITH_TENSORFLOWS_RECORDER, str(folder), str(steps))


def run_python(*arguments: str, timeout: float | None = None) -> str:
    """Run Python for at most `timeout` seconds and return the printed text; a failure shows its errors."""
    run = forked.run(arguments, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}, timeout=timeout)
    assert run.returncode == 0, run.stderr
    return run.stdout


def run_apart(*arguments: str, timeout: float = 300, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process that has imported nothing before; a failure shows its errors.

    Args:
      arguments: As for :func:`run_python`.
      timeout: Seconds after which the process is killed.
      **environment: More variables of the environment, which TensorFlow may read when it is imported.
    """
    run = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert run.returncode == 0, run.stderr
    return run


_HEED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""


def heeding_ctrl_c(command: Sequence[str]) -> list[str]:
    """Returns a command that heeds SIGINT; what runs in the background ignores it, and so do its children.

    Args:
      command: The path of a program, and its arguments.
    """
    return [sys.executable, "-c", _HEED, *command]
