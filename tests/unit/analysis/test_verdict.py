"""`analysis/verdict.py`: a verdict is known without opening the run, while nothing it was found from changes.

What a verdict says is tested in `tests/unit/reading/test_doors.py`.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tb_debugger_plugin.analysis.alerts import allow, own_rules
from tb_debugger_plugin.analysis.snapshot import open_snapshot
from tb_debugger_plugin.analysis.verdict import KeptVerdicts, RunVerdict, verdict
from tb_debugger_plugin.index.cache import database_path, verdict_path
from tb_debugger_plugin.index.loader import RunLoader
from tb_debugger_plugin.index.runs import FoundRun, find_runs
from tb_debugger_plugin.reading.kept_tables import clean
from tests.support.events import PATIENCE_S, Recording, full_health, small_program, snapshot_of


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    with small_program(tmp_path) as recording:
        yield recording


def _run(folder: Path) -> FoundRun:
    (run,) = find_runs(folder)
    return run


def _judged(folder: Path) -> tuple[FoundRun, RunVerdict]:
    with snapshot_of(folder) as snapshot:
        return snapshot.loader.run, verdict(snapshot)


def test_a_verdict_is_known_after_the_run_was_closed(small_run):
    assert KeptVerdicts().find(_run(small_run)) is None
    run, said = _judged(small_run)
    assert said.kind == "bad" and said.sentences and said.doubts
    assert KeptVerdicts().find(run) == said


def _touch(run: FoundRun) -> None:
    path = run.file_sets[0].path("graph_execution_traces")
    os.utime(path, (1, 1))


def _add_rules(run: FoundRun) -> None:
    (Path(run.folder) / own_rules.FILE_NAME).write_text("")


def _allow_one(run: FoundRun) -> None:
    (Path(run.folder) / allow.FILE_NAME).write_text("")


def _of_other_version(run: FoundRun) -> None:
    facts = json.loads(verdict_path(run).read_text())
    verdict_path(run).write_text(json.dumps({**facts, "version": "0"}))


def _with_other_fields(run: FoundRun) -> None:
    facts = json.loads(verdict_path(run).read_text())
    verdict_path(run).write_text(json.dumps({**facts, "verdict": {"said": "something"}}))


def _cut(run: FoundRun) -> None:
    verdict_path(run).write_bytes(verdict_path(run).read_bytes()[:-9])


def _delete_tables(run: FoundRun) -> None:
    clean(run.folder)


@pytest.mark.parametrize(
    "change",
    [_touch, _add_rules, _allow_one, _of_other_version, _with_other_fields, _cut, _delete_tables],
)
def test_a_verdict_is_not_known_any_more_when(change: Callable[[FoundRun], None], small_run):
    run, _ = _judged(small_run)
    change(run)
    assert KeptVerdicts().find(run) is None


@pytest.mark.parametrize("change", [_touch, _add_rules, _cut])
def test_who_has_read_a_verdict_sees_that_it_has_changed(change: Callable[[FoundRun], None], small_run):
    run, _ = _judged(small_run)
    kept = KeptVerdicts()
    assert kept.find(run) is not None
    change(run)
    assert kept.find(run) is None


def test_a_verdict_whose_tables_make_room_for_others_is_still_known_to_who_has_read_it(small_run):
    run, said = _judged(small_run)
    kept = KeptVerdicts()
    kept.find(run)
    clean(run.folder)
    assert not verdict_path(run).exists() and kept.find(run) == said


def test_a_verdict_on_an_earlier_commit_is_not_kept(recording, tmp_path):
    recording.counts(1, 4, finished=False)
    run = _run(tmp_path)
    with contextlib.closing(RunLoader(run)) as loader:
        assert loader.wait(PATIENCE_S)
        with open_snapshot(loader) as early:
            recording.trace("g1", "Log", full_health([1.0]))
            assert loader.catch_up(PATIENCE_S)
            verdict(early)
        assert KeptVerdicts().find(run) is None
        with open_snapshot(loader) as late:
            said = verdict(late)
        assert KeptVerdicts().find(run) == said


def test_nothing_is_kept_where_there_are_no_tables(small_run):
    with snapshot_of(small_run) as snapshot:
        run = snapshot.loader.run
        database_path(run).unlink()
        verdict(snapshot)
    assert not verdict_path(run).exists()
