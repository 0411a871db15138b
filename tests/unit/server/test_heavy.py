"""`server/heavy.py`: answers that take long are computed once, in turn, and kept within a bound."""

from __future__ import annotations

import contextlib
import gzip
import math
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tb_debugger_plugin.analysis.precision.precision import Precision
from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.server import heavy, routes
from tb_debugger_plugin.server.answers import Encoded, packed
from tests.support.asking import Asker
from tests.support.events import PATIENCE_S, Recording, full_health, small_program
from tests.support.processes import wait_until

_THREADS = 16
_PRECISION = "/precision"


class _Slow:
    """Stands before `precision`: counts calls, and holds them until it is released."""

    def __init__(self, real: Callable[..., Precision]) -> None:
        self._real = real
        self._lock = threading.Lock()
        self._running = 0
        self.calls = 0
        self.most = 0
        self.fails = False
        self.begun = threading.Event()
        self.may_end = threading.Event()
        self.may_end.set()

    def __call__(self, *arguments: object) -> Precision:
        with self._lock:
            self.calls += 1
            self._running += 1
            self.most = max(self.most, self._running)
        self.begun.set()
        try:
            assert self.may_end.wait(PATIENCE_S)
            if self.fails:
                raise BadQueryError("No.")
            return self._real(*arguments)
        finally:
            with self._lock:
                self._running -= 1


class _Page:
    """A run that is being recorded, and who asks for it."""

    def __init__(self, folder: Path, slow: _Slow) -> None:
        self.recording: Recording = small_program(folder)
        self.asker = Asker(str(folder))
        self.slow = slow

    def generation(self) -> int:
        return int(self.asker.json("/status", run=".")["generation"])

    def grow(self) -> None:
        before = self.generation()
        self.recording.trace("g1", "Log", full_health([math.nan]))
        assert wait_until(lambda: self.generation() != before, PATIENCE_S)

    def precision(self, dtype: str = "float16") -> int:
        return self.asker.get(_PRECISION, run=".", dtype=dtype).status_code

    def size_of_precision(self, dtype: str) -> int:
        """The bytes of the answer as it is kept."""
        answer = self.asker.get(_PRECISION, run=".", dtype=dtype)
        return len(packed(Encoded(answer.data, answer.content_type)).content)

    def leave(self) -> None:
        """Close the database, as after a while without questions."""
        loader = self.asker.plugin._viewer.run_library.loader(".")
        loader.rest()
        assert wait_until(lambda: loader.is_at_rest, PATIENCE_S)


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Page]:
    slow = _Slow(routes.precision)
    monkeypatch.setattr(routes, "precision", slow)
    made = _Page(tmp_path, slow)
    with contextlib.closing(made.recording), made.asker:
        made.generation()
        yield made


@contextlib.contextmanager
def _held(page: _Page, questions: list[Callable[[], object]]) -> Iterator[list[Future[object]]]:
    """Asks in threads, and lets `precision` begin but not end before the end of the block."""
    page.slow.may_end.clear()
    with ThreadPoolExecutor(len(questions)) as pool:
        try:
            asked = [pool.submit(question) for question in questions]
            assert page.slow.begun.wait(PATIENCE_S)
            yield asked
        finally:
            page.slow.may_end.set()


def test_many_who_ask_the_same_get_one_answer_until_the_run_grows(page: _Page) -> None:
    with _held(page, [page.precision] * _THREADS) as asked:
        pass
    assert [each.result(PATIENCE_S) for each in asked] == [200] * _THREADS
    assert page.slow.calls == 1
    page.precision()
    assert page.slow.calls == 1
    page.grow()
    page.precision()
    assert page.slow.calls == 2


def test_an_answer_from_memory_is_the_answer(page: _Page) -> None:
    for path in ("/precision", "/origins", "/alerts", "/alerts/rules", "/verdict", "/diagnosis"):
        first, second = (page.asker.get(path, run=".") for _ in range(2))
        assert first.status_code == 200 and first.is_json
        assert (first.data, first.headers["Content-Type"]) == (second.data, second.headers["Content-Type"])


def test_an_answer_outlasts_the_time_in_which_nobody_has_the_run_open(page: _Page) -> None:
    before = page.asker.get(_PRECISION, run=".", dtype="float16").data
    page.leave()
    assert page.asker.get(_PRECISION, run=".", dtype="float16").data == before
    assert page.slow.calls == 1
    page.leave()
    page.recording.trace("g1", "Log", full_health([math.nan]))
    assert wait_until(lambda: page.precision() == 200 and page.slow.calls == 2, PATIENCE_S)


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_bytes(b"")])
def test_an_answer_does_not_outlast_its_tables(page: _Page, harm: Callable[[Path], object]) -> None:
    page.precision()
    path = page.asker.plugin._viewer.run_library.loader(".").database_path
    assert path is not None
    page.leave()
    harm(path)
    page.precision()
    assert page.slow.calls == 2


def test_an_answer_is_sent_packed_to_who_takes_that(page: _Page) -> None:
    plain = page.asker.get(_PRECISION, run=".")
    with_gzip = page.asker.get(_PRECISION, headers={"Accept-Encoding": "gzip"}, run=".")
    assert "Content-Encoding" not in plain.headers
    assert with_gzip.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(with_gzip.data) == plain.data
    assert int(plain.headers["Content-Length"]) == len(plain.data)


def test_a_failure_is_not_kept(page: _Page) -> None:
    page.slow.fails = True
    assert page.precision() == 400
    page.slow.fails = False
    assert page.precision() == 200
    assert page.slow.calls == 2


def test_the_status_does_not_wait_for_answers_that_take_long(page: _Page) -> None:
    others = [lambda dtype=dtype: page.precision(dtype) for dtype in ("float16", "bfloat16")]
    with _held(page, others) as asked:
        assert page.asker.get("/status", run=".").status_code == 200
        assert page.asker.get("/columns/graph_executions", run=".").status_code == 200
        assert not any(each.done() for each in asked)


def test_only_so_many_are_computed_at_once(page: _Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heavy, "_turns", heavy._Turns(1))
    others = [lambda dtype=dtype: page.precision(dtype) for dtype in ("float16", "bfloat16", "float16")]
    with _held(page, others) as asked:
        pass
    assert [each.result(PATIENCE_S) for each in asked] == [200] * 3
    assert (page.slow.calls, page.slow.most) == (2, 1)


def test_threads_take_turns_more_often_while_an_answer_is_computed(
    page: _Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = sys.getswitchinterval()
    monkeypatch.setattr(heavy, "_turns", heavy._Turns(2))
    others = [lambda dtype=dtype: page.precision(dtype) for dtype in ("float16", "bfloat16", "float64")]
    with _held(page, others):
        assert sys.getswitchinterval() < usual
    assert sys.getswitchinterval() == usual
    page.slow.fails = True
    page.grow()
    page.precision()
    assert sys.getswitchinterval() == usual


def test_what_is_kept_has_a_bound(page: _Page, monkeypatch: pytest.MonkeyPatch) -> None:
    size = max(page.size_of_precision(dtype) for dtype in ("float16", "bfloat16"))
    page.grow()
    page.slow.calls = 0
    monkeypatch.setattr(heavy, "KEPT_BYTES", int(size * 1.5))
    for name in ("float16", "bfloat16", "bfloat16", "float16", "float16"):
        page.precision(name)
    assert page.slow.calls == 3
    page.grow()
    page.slow.calls = 0
    monkeypatch.setattr(heavy, "KEPT_BYTES", 10)
    for _ in range(2):
        assert page.precision() == 200
    assert page.slow.calls == 2


def test_an_answer_that_lags_is_not_kept(page: _Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_debugger_plugin.analysis.lasting._TIMES", 1e6)
    first = page.asker.json("/origins", run=".")["generation"]
    page.grow()
    assert page.asker.json("/origins", run=".")["generation"] == first < page.generation()
    monkeypatch.setattr("tb_debugger_plugin.analysis.lasting._grows", lambda snapshot: False)
    assert page.asker.json("/origins", run=".")["generation"] == page.generation()


def test_a_file_of_the_user_changes_the_answer(page: _Page, tmp_path: Path) -> None:
    before = page.asker.json("/alerts/rules", run=".")
    (tmp_path / "tbdbg_allow.toml").write_text(
        '[[allow]]\nrule = "InfNanAlert"\nop_type = "Log"\nreason = "Log of 0 is meant."\n'
    )
    assert page.asker.json("/alerts/rules", run=".") != before
