"""`reading/replay.py`: a process that does not run the call is explained in a sentence."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from tb_debugger_plugin.errors import NotReadyError
from tb_debugger_plugin.events.bundle import Bundle, Header, write_bundle
from tb_debugger_plugin.reading import replay
from tb_debugger_plugin.reading.replay import ReplayOptions

_HEADER = Header("f", "f", "f", 0, None, 0.0, (), (), (), (), {}, {}, {})


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    write_bundle(tmp_path / "bundle", Bundle(_HEADER, b"", []))
    return tmp_path / "bundle"


@pytest.mark.parametrize(
    ("code", "stderr", "sentence"),
    [
        (
            1,
            b"...\nModuleNotFoundError: No module named 'tensorflow'\n",
            "TensorFlow is needed to run a call",
        ),
        (-signal.SIGSEGV, b"", "has ended with signal 11"),
        (1, b"Traceback\nMemoryError\n", "has ended with status 1: MemoryError"),
        (0, b"", "has ended with status 0"),
    ],
)
def test_a_process_that_fails_is_explained(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, code: int, stderr: bytes, sentence: str
) -> None:
    monkeypatch.setattr(
        replay.subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=code, stderr=stderr)
    )
    with pytest.raises(NotReadyError, match=sentence):
        replay.replay(bundle, ReplayOptions())


def test_a_process_that_does_not_end_is_ended(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], timeout: float, **_: object) -> None:
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(replay.subprocess, "run", run)
    with pytest.raises(NotReadyError, match="has not ended after 5 seconds"):
        replay.replay(bundle, ReplayOptions(timeout=5.0))
