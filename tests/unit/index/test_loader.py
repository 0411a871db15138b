"""`index/loader.py`: runs are read in the background, and found while they come and go."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import ClassVar

import duckdb
import pytest

from tb_debugger_plugin.analysis.snapshot import open_snapshot
from tb_debugger_plugin.errors import NotFoundError, NotReadyError, UnreadableRunError
from tb_debugger_plugin.index import cache
from tb_debugger_plugin.index.cache import database_path, open_database, remove_database
from tb_debugger_plugin.index.indexer import Indexer
from tb_debugger_plugin.index.loader import RunLoader
from tb_debugger_plugin.index.run_library import Library
from tb_debugger_plugin.index.runs import FoundRun, find_runs
from tests.support.asking import Asker, Facts, fitting, has_answered
from tests.support.events import PATIENCE_S, Recording, full_health, loaded, small_program
from tests.support.processes import wait_until


@pytest.fixture
def recording(tmp_path) -> Iterator[Recording]:
    """A recording of 4 graph executions in the folder of the test."""
    with small_program(tmp_path, steps=1) as recording:
        yield recording


@pytest.fixture
def load(tmp_path) -> Iterator[Callable[..., RunLoader]]:
    """Reads the run in the folder of the test, as a rule to its end, until the test ends."""
    with contextlib.ExitStack() as stack:

        def make(*, waits: bool = True, **options: object) -> RunLoader:
            (run,) = find_runs(tmp_path)
            loader = stack.enter_context(contextlib.closing(RunLoader(run, **options)))
            assert not waits or loader.wait(PATIENCE_S)
            return loader

        yield make


@pytest.fixture
def library(tmp_path) -> Iterator[Library]:
    """The runs below the folder of the test."""
    with contextlib.closing(Library(tmp_path)) as library:
        yield library


def _until(condition):
    assert wait_until(condition, PATIENCE_S)


def _num_graph_executions(loader):
    with open_snapshot(loader) as snapshot:
        return snapshot.num_graph_executions


def _generation(loader):
    with open_snapshot(loader) as snapshot:
        return snapshot.generation


def test_new_events_of_a_live_run_are_there_soon(recording, load):
    loader = load(poll_seconds=0.02)
    assert _num_graph_executions(loader) == 4
    recording.trace("g1", "Log", full_health([1.0]))
    _until(lambda: _num_graph_executions(loader) == 5)


def test_what_is_in_the_files_is_read_at_once_for_who_waits(recording, load):
    loader = load(poll_seconds=3600)
    for count in range(5, 9):
        recording.trace("g1", "Log", full_health([1.0]))
        assert loader.catch_up(PATIENCE_S)
        assert _num_graph_executions(loader) == count
    loader.close()
    assert not loader.catch_up(0.01)


class _Pausing(RunLoader):
    """Keeps how long it would wait between two looks, and waits for the test instead."""

    def __init__(self, run: FoundRun, clock: Callable[[], float]) -> None:
        super().__init__(run, clock=clock)
        self.pauses: list[float] = []
        self.turns = threading.Semaphore(0)

    def _wait_for_look(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.turns.acquire()

    def look(self, times: int) -> list[float]:
        """Returns the next pauses, the first of which has begun."""
        _until(lambda: self.pauses)
        for count in range(2, times + 1):
            self.turns.release()
            _until(lambda count=count: len(self.pauses) == count)
        found, self.pauses = self.pauses, []
        return found


def test_a_run_is_looked_at_soon_after_something_came_while_somebody_asks(recording, tmp_path):
    now = [0.0]
    (run,) = find_runs(tmp_path)
    loader = _Pausing(run, lambda: now[0])
    try:
        loader.start()
        assert loader.look(7) == [0.05, 0.1, 0.2, 0.4, 0.5, 0.5, 0.5]
        recording.trace("g1", "Log", full_health([1.0]))
        loader.turns.release()
        assert loader.look(2) == [0.05, 0.1]
        now[0] += 6.0  # nobody has asked since
        recording.trace("g1", "Log", full_health([1.0]))
        loader.turns.release()
        assert loader.look(2) == [0.5, 0.5]
        loader.start()
        recording.trace("g1", "Log", full_health([1.0]))
        loader.turns.release()
        assert loader.look(1) == [0.05]
    finally:
        loader.turns.release(1000)
        loader.close()


def test_a_run_that_is_written_anew_is_read_anew(tmp_path, load):
    small_program(tmp_path, steps=2).close()
    loader = load(poll_seconds=0.02)
    before = _generation(loader)
    for path in tmp_path.iterdir():
        path.unlink()
    small_program(tmp_path, steps=1, run_id="run1").close()
    _until(lambda: _num_graph_executions(loader) == 4)
    assert _generation(loader) > before


def test_generations_rise_also_when_the_tables_are_made_anew(tmp_path, load):
    generations = []
    for _ in range(2):
        small_program(tmp_path, steps=1).close()
        loader = load()
        generations.append(_generation(loader))
        loader.close()
        remove_database(database_path(loader.run))
    assert generations[0] < generations[1]


def test_queries_of_one_look_see_one_commit(recording, load):
    loader = load(poll_seconds=0.02)
    with open_snapshot(loader) as snapshot:
        recording.trace("g1", "Log", full_health([1.0]))
        progress = loader.progress
        assert progress is not None
        _until(lambda: loader.progress is not None and loader.progress.generation > progress.generation)
        assert (
            snapshot.rows("SELECT count(*) FROM graph_executions")
            == [(4,)]
            == [(snapshot.num_graph_executions,)]
        )
    assert _num_graph_executions(loader) == 5


def test_a_run_that_is_still_being_read_answers_and_says_how_far_it_is(tmp_path, monkeypatch):
    small_program(tmp_path, steps=50).close()
    total = sum(path.stat().st_size for path in tmp_path.iterdir())
    go_on, step = threading.Event(), Indexer.advance
    steps = iter([True, *[False] * 10_000])

    def slow_step(self):
        assert next(steps) or go_on.wait(PATIENCE_S)
        return step(self)

    monkeypatch.setattr(Indexer, "advance", slow_step)
    with Asker(tmp_path) as asker:
        asker.plugin._viewer.run_library._make_loader = lambda run: RunLoader(run, commit_bytes=4000)
        actual = asker.json("/status", {"run": "."})
        assert 0 < actual["loading"]["bytes_done"] < actual["loading"]["bytes_total"] == total
        assert 0 < actual["num_graph_executions"] < 200
        answers = {path: asker.get(path, query).status_code for path, query in fitting(Facts("."))}
        assert [path for path, status in answers.items() if not has_answered(path, status)] == []
        go_on.set()
        _until(lambda: asker.json("/status", {"run": "."})["loading"] is None)
        assert asker.json("/status", {"run": "."})["num_graph_executions"] == 200


def test_a_closed_loader_says_that_it_is_not_ready(recording, load):
    loader = load()
    loader.close()
    with pytest.raises(NotReadyError), open_snapshot(loader):
        pass


class _Clock:
    """Stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_run_that_nobody_asks_about_is_closed_and_opened_again_with_the_tables_it_had(recording, load):
    clock = _Clock()
    loader = load(poll_seconds=0.01, clock=clock)
    generation = _generation(loader)
    clock.now = 59.0
    assert not loader.is_at_rest and _num_graph_executions(loader) == 4
    clock.now = 118.0
    assert not loader.is_at_rest and loader.memory
    loader.memory_of_tables.keep("answer", generation, 42)
    clock.now = 119.0
    _until(lambda: loader.is_at_rest)
    assert loader.progress is None and not loader.memory
    with open_snapshot(loader) as snapshot:
        assert (snapshot.generation, snapshot.num_graph_executions) == (generation, 4)
        assert loader.memory_of_tables.recall("answer", int) == 42
    assert not loader.is_at_rest


def test_the_last_run_that_is_closed_gives_its_memory_back(tmp_path, monkeypatch):
    collected: list[str] = []
    monkeypatch.setattr(cache.gc, "collect", lambda: collected.append(threading.current_thread().name))
    clock = _Clock()
    folders = [small_program(tmp_path / name, run_id=name).close() for name in ("a", "b")]
    first, second = (loaded(folder, clock=clock, poll_seconds=0.01) for folder in folders)
    with contextlib.closing(first), contextlib.closing(second), open_snapshot(second):
        clock.now = 1000.0
        _until(lambda: first.is_at_rest)
        assert not collected
        clock.now = 0.0  # the second one is closed before it would rest
    # A closed loader is the end of the process, as a rule.
    assert not collected and second.is_at_rest
    with contextlib.closing(loaded(folders[0], clock=clock, poll_seconds=0.01)) as again:
        clock.now = 2000.0
        _until(lambda: again.is_at_rest)
        assert len(collected) == 1


def test_a_run_is_not_closed_while_a_question_is_answered(recording, load):
    clock = _Clock()
    loader = load(poll_seconds=0.01, clock=clock)
    with open_snapshot(loader) as snapshot:
        clock.now = 1000.0
        loader.rest()
        progress = loader.progress
        assert progress is not None
        recording.trace("g1", "Log", full_health([1.0]))
        _until(lambda: loader.progress is not None and loader.progress.generation > progress.generation)
        assert snapshot.rows("SELECT count(*) FROM graph_executions") == [(4,)]
    _until(lambda: loader.is_at_rest)


def test_a_run_that_is_being_read_is_read_to_its_end_also_when_nobody_asks(tmp_path, monkeypatch, load):
    small_program(tmp_path, steps=50).close()
    clock, step = _Clock(), Indexer.advance

    def slow_step(self):
        clock.now += 100.0
        return step(self)

    monkeypatch.setattr(Indexer, "advance", slow_step)
    loader = load(waits=False, commit_bytes=4000, poll_seconds=0.01, clock=clock)
    loader.start()
    _until(lambda: loader.is_at_rest)
    monkeypatch.undo()
    assert clock.now > 200.0
    with open_snapshot(loader) as snapshot:
        assert (
            snapshot.num_graph_executions == 200 and loader.progress is not None and not loader.progress.more
        )


def test_questions_get_answers_however_often_the_run_is_closed(recording, monkeypatch, load):
    opened, actual = [], []

    def open_counted(run, *given):
        opened.append(run)
        return open_database(run, *given)

    monkeypatch.setattr("tb_debugger_plugin.index.loader.open_database", open_counted)
    loader = load(poll_seconds=0.001)

    def ask(number: int) -> None:
        rng = random.Random(number)
        for _ in range(30):
            time.sleep(rng.random() * 0.02)
            try:
                actual.append(_num_graph_executions(loader))
            except Exception as error:
                actual.append(error)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        loader.rest()
        time.sleep(0.001)
    loader.close()
    assert actual == [4] * 90 and len(opened) > 1


def test_as_many_runs_are_open_as_may_be_and_they_are_those_asked_about_last(tmp_path, library):
    names = [f"run{n:02}" for n in range(12)]
    for name in names:
        small_program(tmp_path / name, run_id=name).close()
    for name in [*names, "run05"]:
        assert _num_graph_executions(library.loader(name)) == 8
    _until(lambda: [name for name in names if not library._loaders[name].is_at_rest] == names[4:])
    assert _num_graph_executions(library.loader("run00")) == 8
    _until(lambda: library._loaders["run04"].is_at_rest)
    assert _num_graph_executions(library.loader("run05")) == 8


@pytest.fixture
def no_disk(monkeypatch):
    """Nothing can be read as long as this is not taken back; what is asked of it is when it was tried."""
    tried: list[float] = []
    clock = _Clock()

    def fail(*args, **options):
        tried.append(clock.now)
        raise OSError("the disk is gone")

    monkeypatch.setattr("tb_debugger_plugin.index.loader.Indexer", fail)
    return clock, tried


def _failing(load, clock, tried) -> RunLoader:
    """A loader that has said that it cannot read."""
    loader = load(waits=False, poll_seconds=0.001, clock=clock)
    loader.start()

    def time_passes() -> bool:
        clock.now += 0.0005
        return "the disk is gone" in loader.failure

    _until(time_passes)
    assert len(tried) == 3
    return loader


def test_a_loader_that_keeps_failing_says_why_and_reads_when_it_can(
    recording, monkeypatch, no_disk, caplog, load
):
    clock, tried = no_disk
    loader = _failing(load, clock, tried)
    with (
        pytest.raises(UnreadableRunError, match=r"the disk is gone\. The viewer tries again"),
        open_snapshot(loader),
    ):
        pass
    assert len(caplog.records) == 1 and "the disk is gone" in caplog.text
    monkeypatch.undo()
    clock.now += 59.0
    _until(lambda: not loader.failure)
    assert _num_graph_executions(loader) == 4


def test_a_full_disk_is_named_with_its_folder_and_what_to_do(tmp_path, recording, monkeypatch, load):
    (run,) = find_runs(tmp_path)
    folder = database_path(run).parent

    def fail(self):
        raise duckdb.IOException(f'IO Error: Could not write file "{folder}/x": {os.strerror(errno.ENOSPC)}')

    monkeypatch.setattr(Indexer, "advance", fail)
    loader = load(poll_seconds=0.001)
    expected = f"the disk with the folder of the tables, {folder}, is full. Make room there"
    assert expected in loader.failure and "TB_DEBUGGER_CACHE" in loader.failure


def test_what_cannot_be_read_is_tried_again_more_and_more_seldom(recording, no_disk, load):
    clock, tried = no_disk

    def tick() -> float:
        clock.now += 0.01
        return clock.now

    loader = load(waits=False, poll_seconds=0.001, clock=tick)
    loader.start()
    _until(lambda: len(tried) > 11)
    loader.close()
    assert tried[1] - tried[0] < 0.2 and 1.0 < tried[11] - tried[10] < 2.0


def test_what_cannot_be_read_is_tried_again_when_it_changes(recording, monkeypatch, no_disk, load):
    clock, tried = no_disk
    loader = _failing(load, clock, tried)
    monkeypatch.undo()
    recording.trace("g1", "Log", full_health([1.0]))
    recording.close()
    _until(lambda: not loader.failure)  # the clock stands still
    assert _num_graph_executions(loader) == 5


def test_what_changes_while_it_is_tried_is_tried_again(recording, monkeypatch, load):

    def change_and_fail(*args, **options):
        monkeypatch.undo()
        recording.trace("g1", "Log", full_health([1.0]))
        raise OSError("the disk is gone")

    monkeypatch.setattr("tb_debugger_plugin.index.loader.Indexer", change_and_fail)
    loader = load(poll_seconds=0.001, clock=_Clock())  # which stands still
    assert _num_graph_executions(loader) == 5


def test_a_run_that_cannot_be_read_rests_too_and_is_tried_at_the_next_question(recording, no_disk, load):
    clock, tried = no_disk
    loader = _failing(load, clock, tried)
    clock.now += 61.0
    _until(lambda: loader.is_at_rest)
    before = len(tried)
    with pytest.raises(UnreadableRunError), open_snapshot(loader):
        pass
    _until(lambda: len(tried) > before)


def test_a_query_that_fails_is_no_run_that_is_not_ready(recording, load):
    loader = load()
    with pytest.raises(duckdb.CatalogException), open_snapshot(loader) as snapshot:
        snapshot.rows("SELECT * FROM nothing")
    with pytest.raises(NotReadyError), open_snapshot(loader):
        raise duckdb.FatalException("the database has been invalidated")
    assert _num_graph_executions(loader) == 4


def test_a_logdir_of_others_is_active_as_long_as_it_holds_debug_events(tmp_path, library):
    (tmp_path / "events.out.tfevents.1000.worker0").touch()
    assert library.is_active() is False
    small_program(tmp_path / "deep" / "run").close()
    _until(library.is_active)
    for path in (tmp_path / "deep" / "run").iterdir():
        path.unlink()
    _until(lambda: not library.is_active())


def test_a_logdir_with_events_is_active_at_the_first_question(small_run):
    assert Library(small_run).is_active() is True
    assert Library(None).is_active() is False


def test_a_logdir_without_any_event_file_is_active_and_no_longer_when_others_record(tmp_path, library):
    assert Library(tmp_path / "absent").is_active() is True
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "notes.txt").touch()
    assert library.is_active() is True
    (tmp_path / "deep" / "events.out.tfevents.1000.worker0").touch()
    _until(lambda: not library.is_active())


def test_a_search_that_fails_is_made_again(small_run, library, monkeypatch):
    turns = []

    def is_worth_showing(*_):
        turns.append(1)
        if len(turns) == 1:
            raise RuntimeError("a folder that is none")
        return True

    monkeypatch.setattr(type(library._logdir), "is_worth_showing", is_worth_showing)
    assert library.is_active() is False
    _until(library.is_active)


def test_a_process_without_room_for_a_thread_is_asked_again(tmp_path, library, monkeypatch):
    (tmp_path / "events.out.tfevents.1000.worker0").touch()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", _no_thread)
        assert library.is_active() is False
    small_program(tmp_path).close()
    _until(library.is_active)


def _no_thread(thread):
    raise RuntimeError("can't start new thread")


def test_asking_whether_it_is_active_takes_milliseconds(tmp_path, library):
    for n in range(300):
        (tmp_path / f"run{n}").mkdir()
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


def test_a_run_is_in_use_while_queries_keep_coming(recording, load):
    clock = _Clock()
    loader = load(poll_seconds=0.01, clock=clock)
    assert not loader.is_in_use
    clock.now = 0.6
    _num_graph_executions(loader)
    assert loader.is_in_use
    clock.now = 5.7
    assert not loader.is_in_use
    with loader.reading():
        clock.now = 20.0
        assert loader.is_in_use
    assert not loader.is_in_use


def test_more_runs_stay_open_while_they_are_in_use(tmp_path):
    class Loader(RunLoader):
        used: ClassVar[set[str]] = set()

        @property
        def is_in_use(self) -> bool:
            return self.run.name in self.used

    names = [f"run{number:02}" for number in range(26)]
    for name in names:
        small_program(tmp_path / name, run_id=name).close()
    with contextlib.closing(Library(tmp_path, make_loader=Loader)) as library:

        def are_open() -> list[str]:
            for name in names:
                assert library.loader(name).wait(PATIENCE_S)
            return [name for name in names if not library.opened(name).is_at_rest]

        assert are_open() == names[-8:]
        Loader.used = {*names[:3], *names[-8:]}
        assert are_open() == [*names[:3], *names[-8:]]
        Loader.used = {*names}
        assert are_open() == names[-24:]
