"""`capture/recording.py`: full disks and kills change no training and lose no finished record."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.support.disks import with_disks
from tests.support.recorded import read, summary

pytestmark = pytest.mark.tensorflow

TRAINING = """
import hashlib, os, pathlib, resource, shutil, subprocess, sys, time
import tensorflow as tf
import tb_debugger_plugin

def make(trouble, root):
    if trouble == "removed":
        shutil.rmtree(root)
    elif trouble == "cut":
        for path in pathlib.Path(root).glob("*.tail"):
            os.truncate(path, 0)
    elif trouble == "no permission":
        os.chmod(root, 0)
        if os.getuid() == 0:  # who may do anything
            os.seteuid(65534)
    elif trouble == "too large":
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    elif trouble == "quota":
        pathlib.Path(os.environ["NO_QUOTA_LEFT"]).touch()
    elif trouble == "full":
        with open(os.path.join(root, "something else"), "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1000))
            except OSError:
                pass
    elif trouble == "read-only":
        # What the kernel does by itself after an error of the disk: files that are open do not hinder it.
        subprocess.run(["sync", "--file-system", root], check=True)
        subprocess.run(["mount", "-o", "remount,abort", os.path.dirname(root)], check=True)

def end(trouble, root):
    if trouble == "no permission":
        os.seteuid(os.getuid())
        os.chmod(root, 0o700)
    elif trouble == "too large":
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    elif trouble == "quota":
        os.remove(os.environ["NO_QUOTA_LEFT"])
    elif trouble == "full":
        os.remove(os.path.join(root, "something else"))

def train(trouble, root, size):
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
            make(trouble, root)
        step(tf.ones([4 + i // 300, 16]))
        tf.exp(tf.reduce_sum(weights))
        time.sleep(0.001 if i > 100 else 0)
    if trouble == "too large":
        recording.FlushExecutionFiles()
    tb_debugger_plugin.disable_dump_debug_info()
    return weights.numpy().tobytes()

def caught_signals():
    status = pathlib.Path("/proc/self/status")
    return status.exists() and [line for line in status.read_text().splitlines() if "SigCgt" in line]

before = caught_signals()
for trouble, size, root in zip(sys.argv[1::3], sys.argv[2::3], sys.argv[3::3]):
    print("result", hashlib.sha256(train(trouble, root, int(size))).hexdigest(), file=sys.stderr)
    end(trouble, root)
    assert caught_signals() == before
"""
ENVIRONMENT = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
SIZES = (-1, 100)
#: What goes wrong, the size of the buffer, and where the recording is.
Case: TypeAlias = tuple[str, int, Path]


def train(
    cases: list[Case], around: tuple[str, ...] = (), **environment: str
) -> dict[Case, tuple[str, list[str]]]:
    """Run a training for each case, in one process; its result, and what was said in the debugger's name."""
    arguments = [str(word) for case in cases for word in case]
    command = [*around, sys.executable, "-c", TRAINING, *arguments]
    run = subprocess.run(
        command, env={**ENVIRONMENT, **environment}, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    printed = re.split(r"^result (\w+)$", run.stderr, flags=re.MULTILINE)
    said = [[line for line in text.splitlines() if "The debugger" in line] for text in printed[::2]]
    return dict(zip(cases, zip(printed[1::2], said, strict=False), strict=True))


def cases_of(trouble: str, folder: Path) -> list[Case]:
    """One for each size of buffer, each in a folder of its own."""
    return [(trouble, size, folder / f"{trouble} {size}" / "log") for size in SIZES]


IN_ONE_PROCESS = {
    "removed": "was removed|No such file",
    "too large": "File too large",
    # Memory that is mapped from a file ends with it: who stores into it then is killed by SIGBUS.
    "cut": "was cut",
}


@pytest.fixture(scope="module")
def trainings(tmp_path_factory: pytest.TempPathFactory) -> dict[Case, tuple[str, list[str]]]:
    folder = tmp_path_factory.mktemp("trainings")
    troubles = [case for trouble in (*IN_ONE_PROCESS, "no permission") for case in cases_of(trouble, folder)]
    return train([("none", 0, folder / "nowhere"), *troubles])


@pytest.fixture(scope="module")
def plain_result(trainings: dict[Case, tuple[str, list[str]]]) -> str:
    result, said = next(iter(trainings.values()))
    assert not said
    return result


def check(ended: dict[Case, tuple[str, list[str]]], plain_result: str, words: str) -> None:
    """Each training ended as it does without us, and said why it is not recorded, once."""
    assert len(ended) == len(SIZES)
    for (_, _, root), (result, said) in ended.items():
        assert result == plain_result
        (line,) = said
        assert line.startswith(f"The debugger stopped recording to {root}: ")
        assert re.search(words, line), line


@pytest.mark.parametrize("trouble", IN_ONE_PROCESS)
def test_a_folder_that_fails_ends_the_recording_with_one_sentence_and_not_the_training(
    trainings: dict[Case, tuple[str, list[str]]], plain_result: str, trouble: str
) -> None:
    ended = {case: training for case, training in trainings.items() if case[0] == trouble}
    check(ended, plain_result, IN_ONE_PROCESS[trouble])
    if trouble == "too large":  # what was recorded before is readable
        assert all(read(root).traces for _, _, root in ended)


def test_a_folder_that_the_program_may_no_longer_enter_is_recorded_into_to_the_end(
    trainings: dict[Case, tuple[str, list[str]]], plain_result: str
) -> None:
    for (trouble, size, root), (result, said) in trainings.items():
        if trouble == "no permission":
            assert (result, said) == (plain_result, [])
            calls = [e for e in read(root).executions if e.op_type.startswith("__inference")]
            assert len(calls) == 600 if size < 0 else 0 < len(calls) <= size


#: Stands in for a quota, which needs a file system of its own: once a certain file is there, whatever
#: is written to an event file fails as it does when a quota is used up.
QUOTA = """
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int refused(int fd) {
  char link[64], path[4096] = "";
  if (access(getenv("NO_QUOTA_LEFT"), F_OK) != 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  if (readlink(link, path, sizeof path - 1) < 0 || strstr(path, "tfdbg_events") == NULL) return 0;
  errno = EDQUOT;
  return 1;
}

ssize_t write(int fd, const void* data, size_t size) {
  return refused(fd) ? -1 : syscall(SYS_write, fd, data, size);
}

ssize_t writev(int fd, const struct iovec* pieces, int count) {
  return refused(fd) ? -1 : syscall(SYS_writev, fd, pieces, count);
}
"""


@pytest.mark.long
def test_a_quota_that_is_used_up_ends_the_recording_with_one_sentence_and_not_the_training(
    tmp_path: Path, plain_result: str
) -> None:
    compiler = shutil.which("cc") or shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C compiler to stand in for a quota")
    library = tmp_path / "quota.so"
    build = [compiler, "-x", "c", "-shared", "-fPIC", "-o", str(library), "-"]
    subprocess.run(build, input=QUOTA, text=True, check=True)
    preloaded = {"LD_PRELOAD": str(library), "NO_QUOTA_LEFT": str(tmp_path / "no quota left")}
    ended = train(cases_of("quota", tmp_path), **preloaded)
    check(ended, plain_result, "Disk quota exceeded")
    assert all(read(root).traces for _, _, root in ended)


def test_a_full_disk_ends_the_recording_with_one_sentence_and_not_the_training(
    tmp_path: Path, plain_result: str
) -> None:
    cases = cases_of("full", tmp_path)
    around = with_disks("-ttmpfs -osize=3m", {root.parent: "none" for _, _, root in cases}, "-rm")
    check(train(cases, around), plain_result, "No space left on device")


@pytest.mark.long
def test_a_disk_that_turns_read_only_ends_the_recording_with_one_sentence_and_not_the_training(
    tmp_path: Path, plain_result: str
) -> None:
    if shutil.which("mkfs.ext4") is None:
        pytest.skip("there is no mkfs.ext4 to make a file system that turns read-only")
    cases = cases_of("read-only", tmp_path)
    images = {root.parent: tmp_path / f"image {size}" for _, size, root in cases}
    for image in images.values():
        image.touch()
        os.truncate(image, 16 << 20)
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
    around = with_disks("-oloop", {folder: str(image) for folder, image in images.items()}, "-m")
    check(train(cases, around), plain_result, "Read-only file system")


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


def check_a_kill(root: Path, size: int, delay: float, *, least: int = 0) -> None:
    """Kill a program some seconds after its first calls, at least so many, and read what it left behind."""
    command = [sys.executable, "-c", KILLED, str(root), str(size)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=ENVIRONMENT
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "begin\n"
        begun = [program.stdout.readline() for _ in range(least)]
        # A pipe that nobody reads from would stop the program.
        with ThreadPoolExecutor(1) as reader:
            rest = reader.submit(program.stdout.read)
            time.sleep(delay)
            os.kill(program.pid, signal.SIGKILL)
            printed = re.findall(r"^(\d+)$", "".join(begun) + rest.result(), re.MULTILINE)
    if not printed:
        return  # it was killed before its first call had ended
    done = len(printed)
    recorded = read(root)
    sizes = [size for trace in recorded.traces_of("sqrt") for size in trace.numbers("size")]
    calls = [e for e in recorded.executions if e.op_type.startswith("__inference")]
    sizes_of_calls = [summary(call.tensor_protos[0])[4] for call in calls]
    if size > 0:
        # The oldest one goes when the newest is there.
        assert min(size, done) <= len(recorded.executions) <= size + 1
        # Of each call the argument and the root; the call that was killed may have added one or both.
        assert min(size, 2 * done) <= len(recorded.traces) <= size + 1
    else:
        assert len(sizes) in (done, done + 1)
        assert len(sizes_of_calls) in (done, done + 1)
    for actual in (sizes, sizes_of_calls):
        assert actual == list(range(int(actual[0]), int(actual[0]) + len(actual)))
        assert actual[-1] >= done - 1


@pytest.mark.parametrize("size", [-1, 50])
def test_what_was_computed_before_a_sigkill_is_readable(tmp_path: Path, size: int) -> None:
    check_a_kill(tmp_path, size, 0.05, least=500)


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
