"""`capture/engines/guard/functions.py`: of 100,000 steps one is bad, after which a program may be killed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tb_debugger_plugin
from tests.support.checkout import ROOT

pytestmark = [pytest.mark.tensorflow, pytest.mark.long]

_BAD_STEP = 70_123
_PROGRAM = """
import json, os, resource, signal, sys
import tensorflow as tf
import tb_debugger_plugin

folder, bad, steps, is_killed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "killed"
tb_debugger_plugin.enable_dump_debug_info(folder, "GUARD")
weight, momentum = tf.Variable(tf.ones([8, 4])), tf.Variable(tf.zeros([8, 4]))
x = tf.random.stateless_normal([16, 8], [0, 1])

@tf.function
def step(least):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x @ weight)) + tf.math.log(least)
    momentum.assign(0.9 * momentum + tape.gradient(loss, weight))
    weight.assign_sub(0.001 * momentum)
    return loss

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

good, zero, sizes = tf.constant(1.0), tf.constant(0.0), {}
for number in range(steps):
    step(zero if number == bad else good)
    if is_killed and number == bad + 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if number in (steps // 10, steps - 1):
        sizes[number] = resident()
tb_debugger_plugin.disable_dump_debug_info()
print(json.dumps(list(sizes.values())))
"""


def _run(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _PROGRAM, str(folder), *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200)


def _check(folder: Path, bad: int) -> None:
    """The recording opens on the logarithm, in its step, and is small."""
    run = tb_debugger_plugin.open_run(folder)
    (first,) = [one for one in run.origins() if one.category == "origin"]
    assert (first.op_type, first.step) == ("Log", bad)
    assert run.verdict().kind == "bad"
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 50_000_000


def test_the_cause_of_one_bad_step_of_many_is_on_record_and_memory_stays(tmp_path: Path) -> None:
    done = _run(tmp_path, _BAD_STEP, 100_000, "whole")
    assert done.returncode == 0, done.stderr
    early, late = json.loads(done.stdout)
    assert late - early < 20_000_000
    _check(tmp_path, _BAD_STEP)


def test_the_cause_is_on_record_when_the_program_is_killed_one_step_later(tmp_path: Path) -> None:
    done = _run(tmp_path, 123, 1_000, "killed")
    assert done.returncode == -9, done.stderr
    _check(tmp_path, 123)
