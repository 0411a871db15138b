"""`index/run_memory.py`: values that are kept with a run, and made once for all who ask at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tb_debugger_plugin.index.run_memory import RunMemory
from tests.support.events import PATIENCE_S

_THREADS = 16


class _Slow:
    """Makes a value, slowly: not before :meth:`release`; counts how often."""

    def __init__(self, failures: int = 0) -> None:
        self.calls = 0
        self.begun = threading.Event()
        self._failures = failures
        self._may_end = threading.Event()

    def __call__(self) -> object:
        self.calls += 1
        call = self.calls
        self.begun.set()
        assert self._may_end.wait(PATIENCE_S)
        if call <= self._failures:
            raise ValueError(f"failure {call}")
        return object()

    def release(self) -> None:
        self._may_end.set()


def _ask_together(ask: Callable[[], object], slow: _Slow) -> list[object]:
    """Asks from many threads, before any is answered; returns answers and errors."""
    asking = threading.Barrier(_THREADS + 1)

    def one() -> object:
        asking.wait(PATIENCE_S)
        try:
            return ask()
        except ValueError as error:
            return error

    with ThreadPoolExecutor(_THREADS) as pool:
        asked = [pool.submit(one) for _ in range(_THREADS)]
        asking.wait(PATIENCE_S)
        assert slow.begun.wait(PATIENCE_S)
        slow.release()
        return [each.result(PATIENCE_S) for each in asked]


@pytest.mark.parametrize(
    "ask",
    [
        lambda memory, make: memory.once("answer", 1, make),
        lambda memory, make: memory.last("answers", 1, "key", 8, make),
        lambda memory, make: memory.once("outer", 1, lambda: memory.once("answer", 1, make)),
    ],
)
def test_a_value_that_many_ask_for_is_made_once(ask):
    memory, slow = RunMemory(), _Slow()
    answers = _ask_together(lambda: ask(memory, slow), slow)
    assert slow.calls == 1 and len(set(map(id, answers))) == 1
    assert ask(memory, slow) is answers[0] and slow.calls == 1


def test_a_new_version_is_made_again_and_does_not_wait_for_an_old_one():
    memory, slow = RunMemory(), _Slow()
    with ThreadPoolExecutor(1) as pool:
        old = pool.submit(memory.once, "answer", 1, slow)
        assert slow.begun.wait(PATIENCE_S)
        assert memory.once("answer", 2, lambda: "new") == "new"
        slow.release()
        assert old.result(PATIENCE_S) != "new"


def test_a_failure_is_not_kept_and_does_not_reach_those_who_wait():
    memory, slow = RunMemory(), _Slow(failures=1)
    answers = _ask_together(lambda: memory.once("answer", 1, slow), slow)
    failures = [answer for answer in answers if isinstance(answer, ValueError)]
    assert len(failures) == 1 and slow.calls == 2
    assert len(set(map(id, answers))) == 2
    assert memory.once("answer", 1, slow) in answers and slow.calls == 2


def test_the_values_that_were_used_last_are_kept_within_a_bound():
    memory = RunMemory()
    made: list[str] = []

    def ask(key: str, size: int) -> bytes:
        def make() -> bytes:
            made.append(key)
            return bytes(size)

        return memory.last("answers", 1, key, 100, make, len)

    for key, size in (("a", 40), ("b", 40), ("a", 40), ("c", 40)):
        ask(key, size)
    assert made == ["a", "b", "c"]
    ask("a", 40)
    ask("c", 40)
    assert made == ["a", "b", "c"]
    ask("b", 40)  # "a" was used before "c"
    ask("c", 40)
    assert made == ["a", "b", "c", "b"]
    ask("too heavy", 101)  # takes the place of none
    ask("b", 40)
    ask("c", 40)
    ask("too heavy", 101)
    assert made == ["a", "b", "c", "b", "too heavy", "too heavy"]


def test_values_of_an_earlier_version_are_dropped():
    memory = RunMemory()
    assert memory.last("answers", 1, "key", 8, lambda: "old") == "old"
    assert memory.last("answers", 2, "key", 8, lambda: "new") == "new"
    assert memory.last("answers", 2, "key", 8, lambda: "newer") == "new"


def test_what_is_made_while_the_memory_is_emptied_is_not_kept():
    memory, slow = RunMemory(), _Slow()
    with ThreadPoolExecutor(1) as pool:
        old = pool.submit(memory.once, "answer", 1, slow)
        assert slow.begun.wait(PATIENCE_S)
        memory.clear()
        # Of the same version of another database.
        assert memory.once("answer", 1, lambda: "new") == "new"
        slow.release()
        assert old.result(PATIENCE_S) != "new"
    assert memory.once("answer", 1, lambda: "other") == "new"
    memory.clear()
    assert len(memory) == 0


def test_a_value_in_any_version_is_recalled():
    memory = RunMemory()
    assert memory.recall("verdict", str) is None
    memory.keep("verdict", 1, "bad")
    assert memory.recall("verdict", str) == "bad"
    places: list[int] = memory.kept("places", list)
    assert memory.kept("places", list) is places


def test_values_are_the_same_after_they_were_packed():
    memory = RunMemory()
    memory.keep("origins", 7, ["Log", "Exp"])
    assert memory.last("answers", 7, "key", 8, lambda: b"packed answer") == b"packed answer"
    for _ in range(2):
        memory.pack()
    assert len(memory) == 2
    assert memory.once("origins", 7, lambda: pytest.fail("it is kept")) == ["Log", "Exp"]
    assert memory.last("answers", 7, "key", 8, lambda: pytest.fail("it is kept")) == b"packed answer"
    assert memory.once("origins", 8, lambda: ["Sqrt"]) == ["Sqrt"]
    memory.pack()
    memory.clear()
    assert memory.recall("origins", list) is None


def test_what_cannot_be_packed_stays_as_it_is():
    memory, lock = RunMemory(), threading.Lock()
    memory.keep("lock", 1, lock)
    memory.pack()
    assert memory.once("lock", 1, threading.Lock) is lock
