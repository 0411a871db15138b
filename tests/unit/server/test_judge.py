"""`server/judge.py`: runs that nobody opens are judged by a process that gives way to everybody else."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tb_debugger_plugin.analysis.verdict import KeptVerdicts, RunVerdict, verdict
from tb_debugger_plugin.index.cache import database_path, databases, is_in_use, open_database
from tb_debugger_plugin.index.runs import FoundRun, find_runs
from tb_debugger_plugin.server import judge as judging
from tb_debugger_plugin.server.judge import JUDGE_VARIABLE, Judge, give_way
from tests.support.checkout import ROOT
from tests.support.events import PATIENCE_S, small_program, snapshot_of
from tests.support.judges import dies, hangs, is_held, judge_at_once
from tests.support.processes import is_running, wait_until


@pytest.fixture(autouse=True)
def _judges(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    judge_at_once(monkeypatch, tmp_path / "cache")


@pytest.fixture
def runs(tmp_path: Path) -> list[FoundRun]:
    """Three runs that nobody writes any more, by name; the last one was started last."""
    for number in range(3):
        small_program(
            tmp_path / "logs" / f"run{number}", run_id=f"run{number}", start=1000.0 + number
        ).close()
    _let_rest(tmp_path / "logs")
    return find_runs(tmp_path / "logs")


def _let_rest(folder: Path) -> None:
    for path in folder.rglob("*"):
        os.utime(path, (1000, 1000))


class _Noting(KeptVerdicts):
    """Also keeps the names of the runs in the order in which they were judged."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def find(self, run: FoundRun) -> RunVerdict | None:
        self.names.append(run.name)
        return super().find(run)


@pytest.fixture
def make() -> Iterator[Callable[..., tuple[Judge, _Noting]]]:
    """Makes a judge that lives as long as the test."""
    with contextlib.ExitStack() as stack:

        def make(**options: object) -> tuple[Judge, _Noting]:
            kept = _Noting()
            return stack.enter_context(contextlib.closing(Judge(kept, **options))), kept

        yield make


def _until(condition: Callable[[], object]) -> None:
    assert wait_until(condition, PATIENCE_S)


def _has_ended(judge: Judge) -> bool:
    return judge._thread is None and judge._process is None


def test_runs_are_judged_the_latest_first_as_a_user_would_see_them(runs, make):
    judge, kept = make()
    judge.offer(runs)
    _until(lambda: _has_ended(judge))
    assert kept.names == ["run2", "run1", "run0"]
    found = {run.name: KeptVerdicts().find(run) for run in runs}
    for run in runs:
        with snapshot_of(run.folder) as snapshot:
            assert found[run.name] == verdict(snapshot)


def test_what_was_judged_is_not_judged_again_and_was_not_used(runs, make):
    judge, kept = make()
    judge.offer(runs[:2])
    _until(lambda: _has_ended(judge))
    with snapshot_of(runs[2].folder):
        pass
    judge.offer(runs)
    _until(lambda: _has_ended(judge))
    assert sorted(kept.names) == ["run0", "run1", "run2"]
    used = {Path(one.folder).name: one.used for one in databases()}
    assert used["run0"] == used["run1"] == 0.0 < used["run2"]


def test_who_opens_a_run_finds_its_tables_free(runs, make, monkeypatch):
    monkeypatch.setattr(judging, "work", hangs)
    judge, _ = make()
    judge.offer(runs)
    _until(lambda: is_held(judge, runs[2]))
    judge.make_way(runs[2])
    assert not is_in_use(database_path(runs[2]))
    assert judge.state(runs[2]) == "unread"
    _until(lambda: is_held(judge, runs[1]))  # with a process of its own
    judge.make_way(runs[0])  # another one is not disturbed
    assert judge.state(runs[1]) == "judging"


def test_a_run_that_was_opened_lately_is_not_judged_and_then_it_is_the_last_one(runs, make, monkeypatch):
    now = [0.0]
    judge, kept = make(clock=lambda: now[0])
    with monkeypatch.context() as patch:
        patch.setattr(judging, "work", hangs)
        judge.offer(runs)
        _until(lambda: is_held(judge, runs[2]))
        judge.offer([])
        judge.make_way(runs[2])
        _until(lambda: _has_ended(judge))
    judge.offer(runs[2:])
    _until(lambda: _has_ended(judge))
    assert kept.names == []
    now[0] += 1000.0
    judge.offer(runs)
    _until(lambda: _has_ended(judge))
    assert kept.names == ["run1", "run0", "run2"]


def test_a_run_that_another_process_has_open_waits(runs, make):
    with contextlib.closing(open_database(runs[0])) as database:
        assert not database.private
        judge, kept = make()
        judge.offer(runs[:1])
        _until(lambda: _has_ended(judge))
        assert (kept.names, judge.state(runs[0])) == ([], "unread")
    judge.offer(runs[:1])
    _until(lambda: _has_ended(judge))
    assert kept.names == ["run0"]


@pytest.mark.parametrize(("work", "limit"), [(dies, 1000.0), (hangs, 0.1)], ids=["it ends", "it hangs"])
def test_a_run_that_cannot_be_judged_is_tried_again_when_its_files_change(
    runs, make, monkeypatch, work, limit
):
    judge, kept = make(limit=limit)
    with monkeypatch.context() as patch:
        patch.setattr(judging, "work", work)
        judge.offer(runs[:1])
        _until(lambda: _has_ended(judge))
        assert judge.state(runs[0]) == "failed"
    judge._limit = 1000.0
    judge.offer(runs[:1])
    _until(lambda: _has_ended(judge))
    assert (kept.names, judge.state(runs[0])) == ([], "failed")
    for path in Path(runs[0].folder).iterdir():
        os.utime(path, (2000, 2000))
    judge.offer(runs[:1])
    _until(lambda: _has_ended(judge))
    assert (kept.names, judge.state(runs[0])) == (["run0"], "unread")


def test_a_run_whose_files_cannot_be_read_is_said_to_have_failed(runs, make):
    for path in Path(runs[0].folder).glob("*.metadata"):
        path.write_bytes(b"no record")
    _let_rest(Path(runs[0].folder))
    judge, kept = make()
    (run,) = find_runs(runs[0].folder)
    judge.offer([run])
    _until(lambda: _has_ended(judge))
    assert (judge.state(run), kept.names) in (("failed", []), ("unread", [run.name]))


def test_files_that_are_still_written_are_left_alone(runs, make):
    os.utime(next(Path(runs[0].folder).iterdir()))
    judge, kept = make()
    judge.offer(runs[:1])
    _until(lambda: _has_ended(judge))
    assert (kept.names, databases()) == ([], [])


def test_nothing_is_judged_when_nobody_looks_any_more(runs, monkeypatch):
    now = [0.0]

    class Leaving(_Noting):
        def find(self, run: FoundRun) -> RunVerdict | None:
            now[0] += 61.0
            return super().find(run)

    kept = Leaving()
    with contextlib.closing(Judge(kept, clock=lambda: now[0])) as judge:
        judge.offer(runs)
        _until(lambda: _has_ended(judge))
    assert kept.names == ["run2"]


def test_nothing_is_judged_where_that_is_switched_off(runs, make, monkeypatch):
    monkeypatch.setenv(JUDGE_VARIABLE, "0")
    judge, _ = make()
    judge.offer(runs)
    assert _has_ended(judge) and judge.state(runs[0]) == "unread"


def test_the_process_gives_way_to_all_others(runs, make, monkeypatch):
    monkeypatch.setattr(judging, "give_way", give_way)
    judge, _ = make()
    judge.offer(runs)
    _until(lambda: judge.state(runs[2]) == "judging")
    assert judge._process is not None
    pid = judge._process.pid
    assert os.getpriority(os.PRIO_PROCESS, pid) == 19
    assert os.sched_getscheduler(pid) == os.SCHED_IDLE and len(os.sched_getaffinity(pid)) == 1
    assert os.getsid(pid) == os.getsid(0)


def test_closing_leaves_no_process(runs, make, monkeypatch):
    monkeypatch.setattr(judging, "work", hangs)
    judge, _ = make()
    judge.offer(runs)
    _until(lambda: is_held(judge, runs[2]))
    assert judge._process is not None
    pid = judge._process.pid
    judge.close()
    assert not Path(f"/proc/{pid}").exists()
    judge.offer(runs)
    assert _has_ended(judge)


_VIEWER = """
import sys, time
from tb_debugger_plugin.server import judge
judge.give_way = lambda pid: None
process = judge._started()
print(process.pid, flush=True)
time.sleep(1000)
"""


def test_the_process_ends_with_a_viewer_that_is_killed():
    command = [sys.executable, "-c", _VIEWER]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as viewer:
        assert viewer.stdout is not None
        pid = int(viewer.stdout.readline())
        assert is_running(pid)
        viewer.kill()
    _until(lambda: not is_running(pid))
