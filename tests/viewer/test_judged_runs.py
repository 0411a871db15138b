"""`server/judge.py`: the list of runs says what is known of each, and runs that nobody opens become known."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tb_debugger_plugin.server import judge as judging
from tb_debugger_plugin.server.judge import JUDGE_VARIABLE
from tests.support.asking import Asker
from tests.support.events import PATIENCE_S, small_program
from tests.support.judges import hangs, is_held, judge_at_once
from tests.support.processes import wait_until


@pytest.fixture(autouse=True)
def _judges(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    judge_at_once(monkeypatch, tmp_path / "cache")


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Asker]:
    """A viewer of five runs that nobody writes any more."""
    for number in range(5):
        folder = tmp_path / "logs" / f"run{number}"
        small_program(folder, run_id=f"run{number}", start=1000.0 + number).close()
        for path in folder.iterdir():
            os.utime(path, (1000, 1000))
    with Asker(tmp_path / "logs") as asker:
        yield asker


def _states(page: Asker) -> Counter[str]:
    return Counter(run["state"] for run in page.json("/runs").values())


def _verdicts(page: Asker) -> dict[str, Any]:
    return {name: run["verdict"] for name, run in page.json("/runs").items()}


def test_runs_are_judged_while_a_page_looks_and_the_next_viewer_knows_them(page, tmp_path):
    assert _states(page)["judged"] == 0
    assert wait_until(lambda: _states(page)["judged"] == 5, PATIENCE_S)
    known = _verdicts(page)
    with Asker(tmp_path / "logs") as later:
        assert _verdicts(later) == known
        for name, verdict in known.items():
            assert later.json("/verdict", run=name) == verdict


def test_a_run_that_is_opened_while_it_is_judged_is_read_from_the_tables_of_the_cache(page, monkeypatch):
    judge, library = page.plugin._viewer.judge, page.plugin._viewer.run_library
    with monkeypatch.context() as patch:
        patch.setattr(judging, "work", hangs)
        page.json("/runs")
        assert wait_until(lambda: is_held(judge, library.runs()["run4"]), PATIENCE_S)
    assert page.json("/runs")["run4"]["state"] == "judging"
    assert page.json("/status", run="run4")["num_graph_executions"] > 0
    loader = library.opened("run4")
    assert loader is not None and loader.database_path is not None
    assert page.json("/runs")["run4"]["state"] == "unread"
    page.json("/verdict", run="run4")
    assert wait_until(lambda: _states(page)["judged"] == 5, PATIENCE_S)


def test_a_run_that_was_not_opened_says_so_where_none_is_judged(page, monkeypatch, tmp_path):
    monkeypatch.setenv(JUDGE_VARIABLE, "0")
    with Asker(tmp_path / "logs") as other:
        assert _states(other) == {"unread": 5}
        other.json("/verdict", run="run3")
        runs = other.json("/runs")
    assert {name for name, run in runs.items() if run["state"] == "judged"} == {"run3"}
    assert all((run["verdict"] is None) == (run["state"] == "unread") for run in runs.values())
