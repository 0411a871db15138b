"""`capture/api.py`: processes that share a dump root, by fork or restart, neither hang nor mix records."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.programs import run_python
from tests.support.recorded import Recorded, counts, read, read_each

pytestmark = pytest.mark.tensorflow

BEGINNING = """
import os, sys
import numpy as np
import tensorflow as tf
import tb_debugger_plugin

root = sys.argv[1]
f = tf.function(lambda x: tf.sqrt(x, name="sqrt"))

def work(first, end):
    for i in range(first, end):
        f(tf.fill([i + 1], 4.0))

def record(size=-1):
    return tb_debugger_plugin.enable_dump_debug_info(root, "FULL_HEALTH", size)
"""

FORKING = (
    BEGINNING
    + """
import multiprocessing
recording = record()
work(0, 5)

child = os.fork()
if child == 0:
    # What a worker that loads data does, and an ordinary end, with the handlers of `atexit`.
    assert not recording.on
    recording.FlushExecutionFiles()
    tb_debugger_plugin.disable_dump_debug_info()
    np.linalg.svd(np.ones([10, 10]))
    sys.exit(7)
work(5, 10)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 7

with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(abs, range(-4, 0)) == [4, 3, 2, 1]
work(10, 15)

child = os.fork()
if child == 0:
    root = os.path.join(root, "child")
    tb_debugger_plugin.enable_dump_debug_info(root, "FULL_HEALTH", -1)
    tf.constant(2.0)
    tf.exp(tf.constant(0.0))
    tb_debugger_plugin.disable_dump_debug_info()
    os._exit(0)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0
work(15, 20)
assert recording.on
"""
)


def sizes(recorded: Recorded) -> list[list[float]]:
    return recorded.counts_of("sqrt")


def test_forked_children_neither_hang_nor_write_into_their_parents_files(tmp_path: Path) -> None:
    run_python("-c", FORKING, str(tmp_path), timeout=120)
    assert sizes(read(tmp_path)) == [counts([2.0] * (i + 1)) for i in range(20)]
    assert [execution.op_type for execution in read(tmp_path / "child").executions] == ["Exp"]
    assert [counted.finished for counted in read(tmp_path).records("recording_counts")] == [True]


#: The sizes of the buffers of a program and of those that take its place.
GENERATIONS = (-1, 4, -1)

RESTARTING = (
    BEGINNING
    + """
generation, sizes = int(sys.argv[2]), sys.argv[3:]
record(int(sizes[generation]))
work(10 * generation, 10 * generation + 10)
if generation + 1 < len(sizes):
    # The kernel is gone in the middle of the recording: nothing is ended, nothing is closed.
    program = [sys.executable, "-c", os.environ["PROGRAM"], root, str(generation + 1), *sizes]
    os.execv(sys.executable, program)
"""
)


@pytest.mark.long
def test_a_kernel_that_is_restarted_begins_a_file_set_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROGRAM", RESTARTING)
    run_python("-c", RESTARTING, str(tmp_path), "0", *map(str, GENERATIONS), timeout=120)
    recordings = read_each(tmp_path)
    assert len(recordings) == len(GENERATIONS)
    for generation, (size, recorded) in enumerate(zip(GENERATIONS, recordings, strict=True)):
        end = 10 * generation + 10
        # Each call leaves its argument and its result.
        first = end - (10 if size < 0 else size // 2)
        assert sizes(recorded) == [counts([2.0] * (i + 1)) for i in range(first, end)]


AT_THE_SAME_TIME = BEGINNING + "record()\nwork(int(sys.argv[2]), int(sys.argv[2]) + 100)\n"


@pytest.mark.long
def test_processes_that_begin_together_in_one_folder_have_a_file_set_each(tmp_path: Path) -> None:
    command = [sys.executable, "-c", AT_THE_SAME_TIME, str(tmp_path)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    programs = [subprocess.Popen([*command, str(1000 * i)], env=environment) for i in range(2)]
    assert [program.wait(timeout=120) for program in programs] == [0, 0]
    actual = sorted(sizes(recorded) for recorded in read_each(tmp_path))
    assert actual == [[counts([2.0] * (1000 * i + j + 1)) for j in range(100)] for i in range(2)]
