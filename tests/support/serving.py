"""The real TensorBoard with the installed plugin, as a process of its own."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATIENCE_S = 60.0
_PAUSE_S = 0.1


@contextmanager
def tensorboard(logdir: Path, log: Path) -> Iterator[str]:
    """Serve `logdir` while the block runs; the address. What TensorBoard says goes to `log`."""
    port = free_port()
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(logdir), "--port", str(port)]
    with log.open("wb") as said:
        server = subprocess.Popen([*command, "--host", "127.0.0.1"], stdout=said, stderr=said)
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_until_it_answers(server, address, log)
            yield address
        finally:
            server.terminate()
            server.wait()


def free_port() -> int:
    """A port that nothing uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_it_answers(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        assert server.poll() is None, log.read_text(errors="replace")
        try:
            with opener.open(f"{address}/data/plugins_listing", timeout=_PATIENCE_S):
                return
        except OSError:
            time.sleep(_PAUSE_S)
    raise AssertionError(f"no answer within {_PATIENCE_S:.0f} s:\n{log.read_text(errors='replace')}")
