"""`tests/conftest.py`: every test ends, and so does every process that it started."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.support.checkout import ROOT
from tests.support.processes import is_running, wait_until

_TESTS = """
import os, pathlib, signal, subprocess, sys, pytest

def start(words="import signal; signal.pause()", **options):
    return subprocess.Popen([sys.executable, "-c", words], **options)

def test_passes():
    start()

def test_fails():
    start()
    assert False

def test_ended_the_parent():
    words = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(99)'])"
    start(words).wait()

def test_forks():
    if not os.fork():
        signal.pause()

@pytest.fixture(scope="module")
def server():
    yield start()

def test_has_a_server(server):
    pass

def test_waits_for_its_process():
    process = start(stdout=subprocess.PIPE)
    pathlib.Path(__file__).with_name("pid").write_text(str(process.pid))
    process.communicate()

@pytest.fixture(scope="session")
def servers():
    with start() as process:
        yield
        process.kill()

def test_leaves_nothing_of_its_own(servers):
    pass

def test_leaves_nothing_to_a_server_of_others(servers):
    pass

def test_leaves_nothing():
    process = start()
    process.kill()
    process.wait()
"""


def _command(folder, *options):
    file = folder / "test_of_tests.py"
    file.write_text(_TESTS)
    (folder / "conftest.py").write_text("from tests.conftest import *")
    ours = ["-c", "pyproject.toml", "--patience", "0.5"]
    return [sys.executable, "-m", "pytest", *ours, str(file), *options]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("passes", id="a process of a test that passes"),
        pytest.param("fails", id="a process of a test that fails"),
        pytest.param("ended_the_parent", id="a process whose parent has ended"),
        pytest.param("forks", id="a process that was only forked"),
        pytest.param("has_a_server", id="a process of a fixture of the module"),
    ],
)
def test_what_a_test_leaves_is_an_error_and_is_ended(tmp_path, name):
    command = _command(tmp_path, "-k", name)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout
    # With CI set, pytest's summary says it all once more.
    left = set(re.findall(r"^E? *(\d+): ", done.stdout.partition("Processes were left")[2], re.MULTILINE))
    assert len(left) == 1, done.stdout
    assert not is_running(int(left.pop()))


def test_a_test_that_hangs_is_ended_and_what_it_started_too(tmp_path):
    command = _command(tmp_path, "-k", "waits_for_its_process", "--timeout=2")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Timeout" in done.stdout and "Processes were left" in done.stdout


def test_a_test_that_leaves_nothing_passes(tmp_path):
    command = _command(tmp_path, "-k", "leaves_nothing")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_what_a_killed_test_run_leaves_is_ended(tmp_path):
    file = tmp_path / "pid"
    command = _command(tmp_path, "-k", "waits_for_its_process")
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as run:
        assert wait_until(lambda: file.exists() and file.read_text(), 60)
        run.kill()
    assert wait_until(lambda: not is_running(int(file.read_text())), 60)
