"""`cli/demo.py`: a user runs `tbdbg demo`."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tb_debugger_plugin.cli import demo
from tests.support.processes import wait_until
from tests.support.serving import KEY, free_port
from tests.support.tensorflows_reader import check_every_file_set_below

_DEMO = (str(Path(sys.executable).with_name("tbdbg")), "demo")
#: The same without training, which takes its time.
_SERVE = (
    sys.executable,
    "-c",
    "from tb_debugger_plugin.cli import demo, main; import sys;"
    " demo.record = lambda *_: 0; sys.exit(main.main())",
    "demo",
)


@pytest.mark.tensorflow
def test_without_serving_it_ends_after_the_recording(tmp_path):
    run = subprocess.run(
        [*_DEMO, "--logdir", str(tmp_path), "--steps", "2", "--no-serve"], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert "accuracy" in run.stdout
    assert run.stdout.rstrip().splitlines()[-1].endswith(f"in {tmp_path / 'buggy_digits'}")
    assert check_every_file_set_below(tmp_path / "buggy_digits") == 1


@pytest.fixture
def serving(tmp_path):
    """Starts a demo, and waits until it serves; ends what is left of it."""
    with contextlib.ExitStack() as stack:

        def start(command, **options):
            port = free_port()
            words = [*command, "--logdir", str(tmp_path), "--steps", "2", "--port", str(port)]
            demo = stack.enter_context(subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **options))
            stack.callback(demo.kill)
            address = next(line for line in demo.stdout if line.startswith("Open http"))
            assert f"http://localhost:{port} " in address and "first bad value" in address
            assert f"http://localhost:{port}/#debugger&p.debugger.key={KEY}" in next(demo.stdout)
            return demo, port

        yield start


def _serves(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.tensorflow
def test_it_serves_the_recording_until_ctrl_c(serving):
    process, port = serving(_DEMO)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://localhost:{port}/data/plugin/debugger/runs") as answer:
        assert b"buggy_digits" in answer.read()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 0
    assert not _serves(port)


@pytest.mark.long
@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda process: process.terminate(), id="SIGTERM"),
        pytest.param(lambda process: process.send_signal(signal.SIGHUP), id="a terminal that is closed"),
        pytest.param(lambda process: process.stdout.close(), id="nobody reads what it says"),
    ],
)
def test_it_ends_with_its_tensorboard(serving, end):
    # The tests may run under nohup, and what ignores a signal passes that on.
    process, port = serving(_SERVE, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
    end(process)
    assert process.wait(timeout=30) == 0
    assert not _serves(port)


@pytest.mark.long
def test_it_ends_with_its_tensorboard_in_the_background_of_a_shell_too(serving):
    # Such a shell has what it starts ignore SIGINT.
    process, port = serving(_SERVE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 0
    assert not _serves(port)


@pytest.mark.long
def test_tensorboard_ends_when_the_demo_is_killed(serving):
    process, port = serving(_SERVE)
    process.kill()
    # Nor does TensorBoard hold the pipe that somebody reads to its end.
    assert process.stdout.read() == ""
    assert wait_until(lambda: not _serves(port), 30)


@pytest.mark.long
@pytest.mark.tensorflow
@pytest.mark.parametrize("end", ["terminate", "kill"])
def test_the_training_ends_with_the_demo(tmp_path, end):
    words = [*_DEMO, "--logdir", str(tmp_path), "--steps", "1000000", "--no-serve"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        next(line for line in process.stdout if line.startswith("step"))
        getattr(process, end)()
        process.stdout.read()  # ends when nobody writes any more


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
