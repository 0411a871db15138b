"""Judges of runs in tests: they run at once, or functions take a run in their place and never reply."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import BinaryIO

import pytest

from tb_debugger_plugin.index.cache import database_path, open_database
from tb_debugger_plugin.index.runs import FoundRun
from tb_debugger_plugin.server import judge as judging
from tb_debugger_plugin.server.judge import JUDGE_VARIABLE, Judge


def judge_at_once(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """Lets runs be judged, and at once: a busy machine may have nothing left for a process that gives way."""
    monkeypatch.delenv(JUDGE_VARIABLE)
    monkeypatch.setattr(judging, "give_way", lambda pid: None)
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(cache))


def hangs(requests: BinaryIO, replies: BinaryIO) -> None:
    """Opens the tables of a run, and waits until it is ended."""
    run = pickle.load(requests)
    database = open_database(run)
    _mark(run).touch()
    requests.read()
    database.close()


def dies(requests: BinaryIO, replies: BinaryIO) -> None:
    """Ends when it gets a run."""
    pickle.load(requests)


def _mark(run: FoundRun) -> Path:
    return database_path(run).with_suffix(".held")


def is_held(judge: Judge, run: FoundRun) -> bool:
    """Whether a process that hangs has the tables of a run open."""
    return judge.state(run) == "judging" and _mark(run).exists()
