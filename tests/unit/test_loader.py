"""Runs are read in the background, and found while they come and go."""

from __future__ import annotations

import threading
import time

import pytest

from tb_debugger_plugin.analysis.view import look_at
from tb_debugger_plugin.errors import NotFoundError, NotReadyError
from tb_debugger_plugin.index.cache import database_path, remove_database
from tb_debugger_plugin.index.indexer import Indexer
from tb_debugger_plugin.index.loader import RunLoader
from tb_debugger_plugin.index.run_library import Library
from tb_debugger_plugin.index.runs import find_runs
from tests.support.asking import Asker, Facts, fitting
from tests.support.events import PATIENCE_S, Recording, full_health, loaded, small_program


def _until(condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _num_traces(loader):
    with look_at(loader) as view:
        return view.num_traces


def test_new_events_of_a_live_run_are_there_soon(tmp_path):
    recording = small_program(tmp_path, steps=1)
    loader = loaded(tmp_path, poll_seconds=0.02)
    assert _num_traces(loader) == 4
    recording.trace("g1", "Log", full_health([1.0]))
    _until(lambda: _num_traces(loader) == 5)
    loader.close()
    recording.close()


def test_a_run_that_is_written_anew_is_read_anew(tmp_path):
    small_program(tmp_path, steps=2).close()
    loader = loaded(tmp_path, poll_seconds=0.02)
    with look_at(loader) as view:
        before = view.generation
    for path in tmp_path.iterdir():
        path.unlink()
    small_program(tmp_path, steps=1, run_id="run1").close()
    _until(lambda: _num_traces(loader) == 4)
    with look_at(loader) as view:
        assert view.generation > before
    loader.close()


def test_generations_rise_also_when_the_tables_are_made_anew(tmp_path):
    generations = []
    for _ in range(2):
        small_program(tmp_path, steps=1).close()
        loader = loaded(tmp_path)
        with look_at(loader) as view:
            generations.append(view.generation)
        loader.close()
        remove_database(database_path(loader.run))
    assert generations[0] < generations[1]


def test_queries_of_one_look_see_one_commit(tmp_path):
    recording = small_program(tmp_path, steps=1)
    loader = loaded(tmp_path, poll_seconds=0.02)
    with look_at(loader) as view:
        recording.trace("g1", "Log", full_health([1.0]))
        progress = loader.progress
        assert progress is not None
        _until(lambda: loader.progress is not None and loader.progress.generation > progress.generation)
        assert view.rows("SELECT count(*) FROM traces") == [(4,)] == [(view.num_traces,)]
    assert _num_traces(loader) == 5
    loader.close()
    recording.close()


def test_a_run_that_is_still_being_read_answers_and_says_how_far_it_is(tmp_path, monkeypatch):
    small_program(tmp_path, steps=50).close()
    total = sum(path.stat().st_size for path in tmp_path.iterdir())
    go_on, step = threading.Event(), Indexer.step
    steps = iter([True, *[False] * 10_000])

    def slow_step(self):
        assert next(steps) or go_on.wait(PATIENCE_S)
        return step(self)

    monkeypatch.setattr(Indexer, "step", slow_step)
    with Asker(tmp_path) as asker:
        asker.plugin._library._make_loader = lambda run: RunLoader(run, step_bytes=4000)
        found = asker.json("/status", {"run": "."})
        assert 0 < found["loading"]["bytes_done"] < found["loading"]["bytes_total"] == total
        assert 0 < found["num_graph_executions"] < 200
        answers = {path: asker.get(path, query).status_code for path, query in fitting(Facts("."))}
        assert set(answers.values()) == {200}
        go_on.set()
        _until(lambda: asker.json("/status", {"run": "."})["loading"] is None)
        assert asker.json("/status", {"run": "."})["num_graph_executions"] == 200


def test_a_closed_loader_says_that_it_is_not_ready(tmp_path):
    small_program(tmp_path).close()
    loader = loaded(tmp_path)
    loader.close()
    with pytest.raises(NotReadyError), look_at(loader):
        pass


def test_a_loader_that_keeps_failing_says_why(tmp_path, monkeypatch, caplog):
    small_program(tmp_path).close()
    (run,) = find_runs(tmp_path)

    def fail(*args, **options):
        raise OSError("the disk is gone")

    monkeypatch.setattr("tb_debugger_plugin.index.loader.Indexer", fail)
    loader = RunLoader(run, poll_seconds=0.0)
    _until(lambda: loader.wait(1) and bool(loader.failure))
    assert "the disk is gone" in loader.failure
    with pytest.raises(NotReadyError, match="the disk is gone"), look_at(loader):
        pass
    loader.close()
    assert "the disk is gone" in caplog.text


def test_a_logdir_is_active_as_long_as_it_holds_events(tmp_path):
    library = Library(tmp_path)
    assert library.is_active() is False
    small_program(tmp_path / "deep" / "run").close()
    _until(library.is_active)
    for path in (tmp_path / "deep" / "run").iterdir():
        path.unlink()
    _until(lambda: not library.is_active())
    library.close()


def test_a_logdir_with_events_is_active_at_the_first_question(tmp_path):
    small_program(tmp_path).close()
    assert Library(tmp_path).is_active() is True
    assert Library(None).is_active() is False
    assert Library(tmp_path / "absent").is_active() is False


def test_asking_whether_it_is_active_takes_milliseconds(tmp_path):
    for n in range(300):
        (tmp_path / f"run{n}").mkdir()
    library = Library(tmp_path)
    library.is_active()
    begin = time.perf_counter()
    for _ in range(10):
        library.is_active()
    assert (time.perf_counter() - begin) / 10 < 0.05


def test_runs_come_and_go(tmp_path):
    now = [0.0]
    library = Library(tmp_path, clock=lambda: now[0])
    assert library.runs() == {}
    small_program(tmp_path / "a").close()
    assert library.runs() == {}
    now[0] += 2
    assert list(library.runs()) == ["a"]
    loader = library.loader("a")
    assert loader is library.loader("a")
    Recording(tmp_path / "a", host="another").close()
    now[0] += 2
    assert library.loader("a") is not loader
    for path in (tmp_path / "a").iterdir():
        path.unlink()
    now[0] += 2
    with pytest.raises(NotFoundError):
        library.loader("a")
    library.close()
