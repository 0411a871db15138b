"""`native/src/event_file.h`: the viewer serves what a program records while the program runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.asking import PREFIX
from tests.support.events import PATIENCE_S
from tests.support.serving import fetch, tensorboard

pytestmark = pytest.mark.tensorflow

_STEPS = 6
_BUFFER = 2

#: Records two runs, one of them into a circular buffer; takes a step for each line that it is sent, and says
#: when that was done.
_PROGRAM = f"""
import sys, time
import tensorflow as tf
import tb_debugger_plugin

f = tf.function(lambda x: tf.sqrt(x, name="sqrt"))
for name, size in (("all", -1), ("ring", {_BUFFER})):
    folder = sys.argv[1] + "/" + name
    with tb_debugger_plugin.record(folder, "FULL_HEALTH", circular_buffer_size=size, op_regex="^Sqrt$"):
        for n in range(1, {_STEPS} + 1):
            sys.stdin.readline()
            f(tf.fill([n], 4.0))
            print(time.time(), flush=True)
"""


def _sizes(address: str, run: str) -> list[float]:
    status, _, content = fetch(f"{address}{PREFIX}/graph_execution/data", {"run": run})
    rows = json.loads(content)["graph_executions"] if status == 200 else []
    return [row["health"]["size"] for row in rows if row["op_name"] == "sqrt"]


def _seconds_until(what: Callable[[], bool], since: float) -> float:
    deadline = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return time.time() - since


def test_what_a_program_records_is_served_while_it_runs(tmp_path: Path) -> None:
    logdir = tmp_path / "logs"
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    program = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(logdir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    )
    lags: dict[str, list[float]] = {"all": [], "ring": []}
    with program, tensorboard(logdir, tmp_path / "said.txt") as address:
        assert program.stdin is not None and program.stdout is not None
        for run, kept in (("all", _STEPS), ("ring", _BUFFER)):
            for step in range(1, _STEPS + 1):
                program.stdin.write("\n")
                program.stdin.flush()
                since = float(program.stdout.readline())
                expected = [float(n) for n in range(max(1, step - kept + 1), step + 1)]
                seen = _seconds_until(
                    lambda run=run, expected=expected: _sizes(address, run) == expected, since
                )
                lags[run].append(seen)
        assert program.wait(timeout=60) == 0
    actual = {run: (f"{times[0]:.2f} s", f"{max(times[1:]):.2f} s") for run, times in lags.items()}
    print(f"A new run was there after, and new events of it after at most: {actual}.")
