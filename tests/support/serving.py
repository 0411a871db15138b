"""Runs TensorBoard with the installed plugin, in a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tb_debugger_plugin.live.messages.key import KEY_VARIABLE

#: TensorBoard as it runs where there is no TensorFlow, which it takes most of its start to import.
WITHOUT_TENSORFLOW = ("tests.support.without_tensorflow", "tensorboard")
#: TensorBoard as most users have it.
WITH_TENSORFLOW = ("tensorboard.main",)
#: The key of all viewers of the tests; `tests/conftest.py` sets it.
KEY = "the-key-of-the-tests"
_PATIENCE_S = 60.0
_PAUSE_S = 0.1


@contextmanager
def tensorboard(
    logdir: Path, log: Path, *, program: Sequence[str] = WITHOUT_TENSORFLOW, **environment: str
) -> Iterator[str]:
    """Serve a logdir with TensorBoard while the block runs.

    Args:
      logdir: The logdir to serve.
      log: A file for TensorBoard's output.
      program: The module to run, and its first arguments: one of the constants above.
      **environment: More variables of the environment.

    Returns:
      The address.
    """
    port = free_port()
    options = ["--logdir", str(logdir), "--port", str(port), "--host", "127.0.0.1"]
    command = ["-X", "faulthandler", "-m", *program, *options]
    with answering(command, port, log, page="data/plugins_listing", **environment) as address:
        yield address


@contextmanager
def answering(
    command: Sequence[str], port: int, log: Path, *, page: str = "", **environment: str
) -> Iterator[str]:
    """Run a server in Python while the block runs, which begins when the server answers.

    Args:
      command: The arguments of Python.
      port: The port at which it answers.
      log: A file for its output.
      page: What it has to serve; any answer is enough if it is empty.
      **environment: More variables of the environment.

    Returns:
      The address.
    """
    given = {**os.environ, KEY_VARIABLE: KEY, **environment}
    with log.open("wb") as said:
        server = subprocess.Popen([sys.executable, *command], stdout=said, stderr=said, env=given)
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_until_it_answers(server, f"{address}/{page}", log)
            yield address
        finally:
            server.terminate()
            server.wait()


def await_run(address: str, run: str = ".") -> None:
    """Wait until the viewer has read a run for the first time, which may take longer than one answer."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        try:
            opener.open(f"{address}/data/plugin/debugger/status?run={run}", timeout=_PATIENCE_S).close()
            return
        except urllib.error.HTTPError:
            time.sleep(_PAUSE_S)
    raise AssertionError(f"The run {run} was not read in {_PATIENCE_S:g} s.")


def free_port() -> int:
    """Returns a port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_it_answers(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        assert server.poll() is None, log.read_text(errors="replace")
        try:
            opener.open(url, timeout=_PATIENCE_S).close()
            return
        except OSError as error:
            if isinstance(error, urllib.error.HTTPError) and url.endswith("/"):
                return error.close()  # any answer is enough
            time.sleep(_PAUSE_S)
    server.send_signal(signal.SIGABRT)  # it writes what each of its threads does
    server.wait(_PATIENCE_S)
    raise AssertionError(f"no answer within {_PATIENCE_S:.0f} s:\n{log.read_text(errors='replace')}")


def fetch(url: str, query: Mapping[str, object] | None = None) -> tuple[int, str, bytes]:
    """Query a server and return the status, type and content of its answer.

    Args:
      url: The address without parameters.
      query: The parameters.

    Raises:
      OSError: There is no server.
    """
    text = "&".join(f"{name}={urllib.parse.quote(str(value))}" for name, value in (query or {}).items())
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{url}?{text}", timeout=_PATIENCE_S) as answer:
            return answer.status, answer.headers.get_content_type(), answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers.get_content_type(), error.read()
