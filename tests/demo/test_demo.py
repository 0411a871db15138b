"""`tbdbg demo`, as a user runs it."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tb_debugger_plugin.cli import demo
from tests.support.serving import free_port
from tests.support.tensorflows_reader import check_every_file_set_below

_DEMO = (str(Path(sys.executable).with_name("tbdbg")), "demo")


@pytest.mark.tensorflow
def test_without_serving_it_ends_after_the_recording(tmp_path):
    run = subprocess.run(
        [*_DEMO, "--logdir", str(tmp_path), "--steps", "2", "--no-serve"], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert "accuracy" in run.stdout
    assert run.stdout.rstrip().splitlines()[-1].endswith(f"in {tmp_path / 'buggy_digits'}")
    assert check_every_file_set_below(tmp_path / "buggy_digits") == 1


@pytest.mark.tensorflow
def test_it_serves_the_recording_until_ctrl_c(tmp_path):
    port = str(free_port())
    process = subprocess.Popen(
        [*_DEMO, "--logdir", str(tmp_path), "--steps", "2", "--port", port], stdout=subprocess.PIPE, text=True
    )
    try:
        address = next(line for line in process.stdout if line.startswith("Open http"))
        assert f"http://localhost:{port} " in address and "NaN/∞" in address
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://localhost:{port}/data/plugin/debugger/runs") as answer:
            assert b"buggy_digits" in answer.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.communicate()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(port))) != 0


def test_a_port_in_use_is_said_before_anything_is_recorded(tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        run = subprocess.run(
            [*_DEMO, "--logdir", str(tmp_path), "--port", str(port)], capture_output=True, text=True
        )
    assert run.returncode == 1
    assert f"Port {port} cannot be used" in run.stderr and "--port" in run.stderr
    assert not list(tmp_path.iterdir())


def test_an_earlier_demo_is_replaced(tmp_path):
    folder = tmp_path / demo.EXAMPLE
    folder.mkdir()
    (folder / "tfdbg_events.1.host.metadata").write_bytes(b"")
    demo.forget_earlier_recording(folder)
    assert not folder.exists()


def test_a_folder_with_anything_else_in_it_is_left_alone(tmp_path):
    (tmp_path / "tfdbg_events.1.host.metadata").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("mine")
    demo.forget_earlier_recording(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
