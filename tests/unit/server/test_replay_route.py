"""`server/replay.py`: a kept call runs in a process of its own, and the answers say what was tried."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tb_debugger_plugin.analysis.beside import keep_trial
from tb_debugger_plugin.server import replay
from tests.support.asking import Asker
from tests.support.events import small_program

_WORDS = "Tried with the call that was kept: in float64, nothing is bad."


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """The first of two kept calls beside a recording; what is in it only matters to the command."""
    small_program(tmp_path / "train").close()
    (metadata,) = (tmp_path / "train").glob("*.metadata")
    for number in (2, 1):
        (path := metadata.with_suffix(f".replay_{number}")).write_bytes(b"a call")
    return path


@pytest.fixture
def page(bundle: Path) -> Iterator[Asker]:
    with Asker(bundle.parent.parent) as asker:
        yield asker


def _command(
    monkeypatch: pytest.MonkeyPatch, stdout: str = "", stderr: str = "", code: int = 0
) -> list[list[str]]:
    commands: list[list[str]] = []

    def run(command: list[str], **_: object) -> SimpleNamespace:
        commands.append(command)
        return SimpleNamespace(stdout=stdout, stderr=stderr, returncode=code)

    monkeypatch.setattr(replay.subprocess, "run", run)
    return commands


def test_the_command_is_tbdbg_replay_of_the_first_call(
    page: Asker, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"tried": [{"words": "as it was, 2 tensors are bad."}, {"words": "in float64, nothing is bad."}]}
    commands = _command(monkeypatch, json.dumps(said))
    answer = page.post("/replay", {"run": "train"})
    assert answer.json == {"tried": ["as it was, 2 tensors are bad.", "in float64, nothing is bad."]}
    (command,) = commands
    assert command[-5:-1] == ["replay", str(bundle), "--json", "--timeout"]
    assert float(command[-1]) < replay._SECONDS
    assert page.json("/status", {"run": "train"})["kept_calls"] == 2


def test_what_was_tried_is_in_the_answers_that_were_kept_before(page: Asker, bundle: Path) -> None:
    before = page.json("/origins", {"run": "train"})["origins"]
    assert [one["tried"] for one in before] == [None]
    keep_trial(bundle, before[0]["op_name"], _WORDS)
    assert [one["tried"] for one in page.json("/origins", {"run": "train"})["origins"]] == [_WORDS]
    assert page.json("/diagnosis", {"run": "train"})["diagnosis"]["tried"] == _WORDS
    assert _WORDS in page.get("/report", {"run": "train", "format": "markdown"}).text
    assert _WORDS in page.get("/report", {"run": "train"}).text


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"op": 3, "words": []}', '{"op": "Log"}', "[" * 9999])
def test_a_damaged_trial_is_none(page: Asker, bundle: Path, content: str) -> None:
    bundle.with_name(bundle.name + ".tried").write_text(content)
    assert [one["tried"] for one in page.json("/origins", {"run": "train"})["origins"]] == [None]


def test_a_failure_is_said_with_the_sentence_of_the_command(
    page: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    _command(monkeypatch, stderr="tbdbg: TensorFlow is needed to run a call again.\n", code=1)
    answer = page.post("/replay", {"run": "train"})
    assert answer.status_code == 503
    assert answer.json["error"] == "The call did not run again: TensorFlow is needed to run a call again."


def test_a_call_that_does_not_end_is_ended(page: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **_: object) -> None:
        raise subprocess.TimeoutExpired(command, 1)

    monkeypatch.setattr(replay.subprocess, "run", run)
    assert "has not ended" in page.post("/replay", {"run": "train"}).json["error"]


def test_one_call_runs_at_a_time(page: Asker) -> None:
    with replay._turn:
        answer = page.post("/replay", {"run": "train"})
    assert (answer.status_code, answer.json["error"][:28]) == (503, "A call is being run again; t")


def test_a_run_without_kept_calls_has_none_to_run(page: Asker, bundle: Path) -> None:
    for path in bundle.parent.glob("*.replay_*"):
        path.unlink()
    assert page.post("/replay", {"run": "train"}).status_code == 404
    assert page.json("/status", {"run": "train"})["kept_calls"] == 0
    assert page.post("/replay", {"run": "other"}).status_code == 404
    assert page.post("/replay", {"run": 3}).status_code == 400
