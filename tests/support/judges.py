"""What a test puts in place of the process that judges runs: functions that take a run and never reply."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import BinaryIO

from tb_debugger_plugin.index.cache import database_path, open_database
from tb_debugger_plugin.index.runs import FoundRun
from tb_debugger_plugin.server.judge import Judge


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
