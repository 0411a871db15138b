"""Disks that fail, programs that are killed: training is what it would be, and nothing finished is lost."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.recorded import read

pytestmark = pytest.mark.tensorflow

TRAINING = """
import hashlib, os, resource, shutil, sys, time
import tensorflow as tf
import tb_debugger_plugin

root, trouble, size = sys.argv[1], sys.argv[2], int(sys.argv[3])

def make_trouble():
    if trouble == "removed":
        shutil.rmtree(root)
    elif trouble == "quota":
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    elif trouble == "full":
        with open(os.path.join(root, "something else"), "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1000))
            except OSError:
                pass

weights = tf.Variable(tf.random.stateless_normal([16, 16], [1, 2]))

@tf.function(reduce_retracing=False)
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.tanh(x @ weights) ** 2)
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss

if trouble != "none":
    recording = tb_debugger_plugin.enable_dump_debug_info(root, "FULL_HEALTH", size)
for i in range(600):
    if i == 100:
        make_trouble()
    step(tf.ones([4 + i // 300, 16]))
    tf.exp(tf.reduce_sum(weights))
    time.sleep(0.001 if i > 100 else 0)
if trouble != "none" and sys.argv[4:] == ["flush"]:
    recording.FlushExecutionFiles()
tb_debugger_plugin.disable_dump_debug_info()
print("result", hashlib.sha256(weights.numpy().tobytes()).hexdigest())
"""
ENVIRONMENT = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}


def train(root: Path, trouble: str, size: int, *more: str, around: tuple[str, ...] = ()) -> tuple[str, str]:
    """Run the training; its result, and what it said in the debugger's name."""
    command = [*around, sys.executable, "-c", TRAINING, str(root), trouble, str(size), *more]
    run = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    result = re.search(r"^result (\w+)$", run.stdout, re.MULTILINE)
    assert result, run.stderr
    return result[1], "\n".join(line for line in run.stderr.splitlines() if "The debugger" in line)


@pytest.fixture(scope="module")
def plain_result(tmp_path_factory: pytest.TempPathFactory) -> str:
    return train(tmp_path_factory.mktemp("plain"), "none", 0)[0]


@pytest.mark.parametrize(
    ("trouble", "size", "words"),
    [
        ("removed", -1, "was removed|No such file"),
        ("removed", 100, "was removed|No such file"),
        ("quota", -1, "File too large"),
        ("quota", 100, "File too large"),
    ],
)
def test_a_folder_that_fails_ends_the_recording_with_one_sentence_and_not_the_training(
    tmp_path: Path, plain_result: str, trouble: str, size: int, words: str
) -> None:
    result, said = train(tmp_path / "log", trouble, size, *(["flush"] if trouble == "quota" else []))
    assert result == plain_result
    assert said.count("The debugger stopped recording") == 1, said
    assert re.search(words, said), said
    if trouble != "removed":
        assert read(tmp_path / "log").traces  # what was recorded before is readable


IN_A_SMALL_DISK = """
mount -t tmpfs -o size=3m none "$1" || exit 1
shift; "$@"; code=$?
exit $code
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """An empty folder that is a disk of 3 MB to whoever is run with the words that come with it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rm", "true"]).returncode != 0:
        pytest.skip("this machine does not let its users mount")
    yield disk, ("unshare", "-rm", "sh", "-c", IN_A_SMALL_DISK, "sh", str(disk))


@pytest.mark.parametrize("size", [-1, 100])
def test_a_full_disk_ends_the_recording_with_one_sentence_and_not_the_training(
    small_disk: tuple[Path, tuple[str, ...]], plain_result: str, size: int
) -> None:
    disk, around = small_disk
    result, said = train(disk / "log", "full", size, around=around)
    assert result == plain_result
    assert said.count("The debugger stopped recording") == 1, said
    assert "No space left on device" in said


KILLED = """
import sys
import tensorflow as tf
import tb_debugger_plugin

f = tf.function(lambda x: tf.sqrt(x, name="sqrt"))
print("begin", flush=True)
tb_debugger_plugin.enable_dump_debug_info(sys.argv[1], "FULL_HEALTH", int(sys.argv[2]))
for i in range(1_000_000):
    f(tf.zeros([i]))
    print(i, flush=True)
"""


def check_a_kill(root: Path, size: int, delay: float) -> None:
    """Kill a program some seconds after it began, and read what it left behind."""
    command = [sys.executable, "-c", KILLED, str(root), str(size)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=ENVIRONMENT
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "begin\n"
        # A pipe that nobody reads from would stop the program.
        with ThreadPoolExecutor(1) as reader:
            rest = reader.submit(program.stdout.read)
            time.sleep(delay)
            os.kill(program.pid, signal.SIGKILL)
            printed = re.findall(r"^(\d+)$", rest.result(), re.MULTILINE)
    if not printed:
        return  # it was killed before its first call had ended
    done = len(printed)
    recorded = read(root)
    sizes = [values[4] for values in recorded.of("sqrt")]
    if size > 0:
        assert min(size, done) <= len(recorded.executions) <= size
        # Of each call the argument and the root; the call that was killed may have added one or both.
        assert min(size, 2 * done) <= len(recorded.traces) <= size
    else:
        assert len(sizes) in (done, done + 1)
    assert sizes == list(range(int(sizes[0]), int(sizes[0]) + len(sizes)))
    assert sizes[-1] >= done - 1


@pytest.mark.parametrize("size", [-1, 50])
def test_nothing_finished_is_lost_by_a_sigkill_at_a_random_moment(tmp_path: Path, size: int) -> None:
    check_a_kill(tmp_path, size, random.uniform(0.0, 1.5))


@pytest.mark.long
@pytest.mark.parametrize("size", [-1, 50])
def test_nothing_finished_is_lost_by_a_hundred_sigkills(tmp_path: Path, size: int) -> None:
    moments = random.Random(size)
    with ThreadPoolExecutor(2) as two_at_a_time:
        kills = [
            two_at_a_time.submit(check_a_kill, tmp_path / str(i), size, moments.uniform(0.0, 2.0))
            for i in range(100)
        ]
        for kill in kills:
            kill.result()
