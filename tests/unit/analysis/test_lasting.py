"""`analysis/lasting.py`: answers of a run that grows, which are kept for longer than one commit."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_debugger_plugin.analysis.lasting import lasting, lasting_generation
from tb_debugger_plugin.analysis.origins import origins
from tb_debugger_plugin.analysis.snapshot import Snapshot, open_snapshot
from tb_debugger_plugin.analysis.status import status
from tb_debugger_plugin.events.fileset import GRAPH_EXECUTION_TRACES
from tb_debugger_plugin.events.tail import TailMode
from tb_debugger_plugin.index.loader import RunLoader
from tests.support.asking import Asker
from tests.support.events import PATIENCE_S, Recording, full_health, loaded, small_program
from tests.support.processes import wait_until
from tests.support.tails import build_tail

BAD = full_health([math.nan])


class _Origins:
    """An answer that takes two seconds of its clock, and says of which commit it is."""

    def __init__(self) -> None:
        self.now = 0.0

    def of(self, snapshot: Snapshot) -> int:
        def make() -> int:
            self.now += 2.0
            return snapshot.generation

        return lasting(snapshot, "answer", make, self.clock).value

    def clock(self) -> float:
        return self.now


class _Run:
    """A run that is being recorded, and its loader."""

    def __init__(self, folder: Path) -> None:
        self.recording = small_program(folder)
        self.loader: RunLoader = loaded(folder)
        self.answer = _Origins()

    def grow(self) -> int:
        """Adds a value; returns the commit that has it."""
        self.recording.trace("g1", "Log", BAD)
        return self.look()

    def look(self) -> int:
        assert self.loader.catch_up(PATIENCE_S)
        with open_snapshot(self.loader) as snapshot:
            return snapshot.generation

    def ask(self, *, may_lag: bool = True) -> int:
        with open_snapshot(self.loader, may_lag=may_lag) as snapshot:
            return self.answer.of(snapshot)

    def due(self) -> int:
        with open_snapshot(self.loader, may_lag=True) as snapshot:
            return lasting_generation(snapshot, "answer", self.answer.clock)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[_Run]:
    made = _Run(tmp_path)
    with contextlib.closing(made.loader), contextlib.closing(made.recording):
        yield made


def test_an_answer_is_given_again_for_ten_times_as_long_as_it_took(run: _Run) -> None:
    first = run.ask()
    second = run.grow()
    assert second > first
    run.answer.now += 19.9
    assert (run.ask(), run.due()) == (first, first)
    run.answer.now += 0.2
    assert run.due() == second
    assert run.ask() == second


def test_only_a_small_answer_is_kept_while_nobody_has_the_run_open(run: _Run) -> None:
    calls: list[str] = []
    for _ in range(2):
        for name, is_small in (("small", True), ("large", False)):
            with open_snapshot(run.loader) as snapshot:
                lasting(snapshot, name, lambda name=name: calls.append(name), is_small=is_small)
        run.loader.rest()
        assert wait_until(lambda: run.loader.is_at_rest, PATIENCE_S)
    assert calls == ["small", "large", "large"]


def test_who_must_not_lag_gets_the_answer_of_the_last_commit(run: _Run) -> None:
    first = run.ask()
    second = run.grow()
    assert run.ask() == first
    assert run.ask(may_lag=False) == second
    assert run.ask() == second


def test_a_run_that_has_ended_is_answered_exactly(run: _Run) -> None:
    first = run.ask()
    run.recording.counts(4, 8, finished=True)
    ended = run.look()
    assert ended > first
    assert (run.due(), run.ask()) == (ended, ended)


def test_an_answer_is_not_given_for_a_commit_before_it(run: _Run) -> None:
    with open_snapshot(run.loader, may_lag=True) as early:
        second = run.grow()
        assert run.ask() == second
        assert run.answer.of(early) == early.generation < second
    assert run.ask() == second


def test_what_is_computed_from_an_answer_that_lags_does_not_hold_for_its_own_commit(run: _Run) -> None:
    def outer(*, may_lag: bool = True) -> tuple[int, int]:
        with open_snapshot(run.loader, may_lag=may_lag) as snapshot:
            found = lasting(snapshot, "outer", lambda: run.answer.of(snapshot), run.answer.clock)
            return found.generation, found.value

    first = run.ask()
    second = run.grow()
    assert outer() == (first, first)
    run.answer.now += 20.1
    assert outer() == (second, second)


def test_of_two_requests_at_once_one_computes_and_the_other_waits(run: _Run) -> None:
    begun, go_on = threading.Event(), threading.Event()
    computed: list[int] = []

    def make(snapshot: Snapshot) -> int:
        computed.append(snapshot.generation)
        begun.set()
        assert go_on.wait(PATIENCE_S)
        return snapshot.generation

    def ask() -> None:
        with open_snapshot(run.loader, may_lag=True) as snapshot:
            answers.append(lasting(snapshot, "answer", lambda: make(snapshot)).value)

    answers: list[int] = []
    threads = [threading.Thread(target=ask) for _ in range(2)]
    threads[0].start()
    assert begun.wait(PATIENCE_S)
    threads[1].start()
    first = run.due()
    assert run.grow() > first == run.due()  # what is being computed is not asked for again
    go_on.set()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert (answers[0], len(computed)) == (first, 1)


def _ring(recording: Recording, names: str, dropped: int) -> None:
    payloads = [recording.trace_event("g1", name, BAD, at=1.0).SerializeToString() for name in names.split()]
    size = recording.files.path(GRAPH_EXECUTION_TRACES).stat().st_size
    ring = build_tail(
        payloads, mode=TailMode.RING, file_size=size, capacity=4096, tail=dropped, dropped=dropped
    )
    recording.files.tail_path(GRAPH_EXECUTION_TRACES).write_bytes(ring)


def test_in_a_ring_an_answer_holds_until_the_ring_overwrites_a_row(run: _Run) -> None:
    _ring(run.recording, "x Log", 0)
    run.look()
    first = run.ask()
    _ring(run.recording, "x Log mul", 0)
    assert run.look() > first == run.ask()
    _ring(run.recording, "Log mul Mean", 70)
    assert run.look() == run.due() == run.ask() > first


def test_a_growing_run_is_asked_by_status_and_by_routes_without_computing_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find, computed = origins._find, []

    def counted(snapshot: Snapshot) -> list[origins.Origin]:
        computed.append(snapshot.generation)
        return find(snapshot)

    monkeypatch.setattr(origins, "_find", counted)
    monkeypatch.setattr("tb_debugger_plugin.analysis.lasting._TIMES", 1e6)
    with contextlib.closing(small_program(tmp_path)) as recording:
        asker = Asker(str(tmp_path))
        first = asker.json("/origins", run=".")
        cause = asker.json("/alerts", run=".")["first_cause"]
        assert first["origins"][0]["op_name"] == "Log" and cause is not None
        recording.trace("g1", "Log", BAD)
        assert wait_until(
            lambda: asker.json("/status", run=".")["generation"] > first["generation"], PATIENCE_S
        )
        later = asker.json("/status", run=".")
        assert later["origins_generation"] == first["generation"] < later["generation"]
        assert asker.json("/origins", run=".") == first
        assert asker.json("/alerts", run=".")["first_cause"] == cause
    assert len(computed) == 1


def test_the_status_computes_no_answer(run: _Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origins, "_find", lambda snapshot: pytest.fail("Origins were computed."))
    with open_snapshot(run.loader, may_lag=True) as snapshot:
        assert status(snapshot)["origins_generation"] == snapshot.generation
