"""`server`: many clients query at once while the run grows, is recorded anew, and its tables are dropped.

These invariants are checked: each answer is complete and all its numbers are of one commit; a client without
an answer gets a 404 or 503.
"""

from __future__ import annotations

import itertools
import random
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tb_debugger_plugin.cli.main import main
from tb_debugger_plugin.index.loader import RunLoader
from tests.support.asking import Asker, Facts, decoded, fitting, has_answered
from tests.support.events import PATIENCE_S, full_health, small_program

_CLIENTS = 32
_SECONDS = 4.0
_PAUSE_S = 0.1
_POLL_S = 0.05
#: For a question to be answered. DuckDB before 2.0 looks for pandas at every parameter of a query; where
#: pandas is not installed, these clients take three to five times as long.
_PATIENCE_S = 4 * PATIENCE_S
#: Of a list; below what a page of JSON may hold.
_MAX_ROWS = 6000
_SIZES = ("num_executions", "num_graph_executions", "num_bad_graph_executions")


class Clients:
    """Asks from many threads and keeps what is wrong; lives inside ``with``."""

    def __init__(self, asker: Asker, *, allowed: set[int]) -> None:
        self._asker = asker
        self._allowed = allowed
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(_CLIENTS)]
        self.problems: list[str] = []
        self.statuses: Counter[tuple[str, int]] = Counter()
        self.sizes: dict[tuple[str, int], set[int]] = {}
        self._lock = threading.Lock()  # guards the three above

    def __enter__(self) -> Clients:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    @property
    def num_generations(self) -> int:
        """How many commits were seen."""
        with self._lock:
            return len({generation for _, generation in self.sizes})

    @property
    def answered(self) -> set[str]:
        """The routes that have answered."""
        with self._lock:
            return {path for path, status in self.statuses if has_answered(path, status)}

    def _ask(self, number: int) -> None:
        rng = random.Random(number)
        questions = fitting(Facts("."))
        # Each client asks all questions, in orders of its own: by chance alone, some come late.
        rounds = (rng.sample(questions, len(questions)) for _ in itertools.count())
        for path, query in itertools.chain.from_iterable(rounds):
            if self._stop.is_set():
                break
            time.sleep(rng.random() * _PAUSE_S)
            response = self._asker.get(path, query)
            try:
                answer = decoded(response.mimetype, response.data)
                actual = list(torn(path, query, answer)) if response.status_code == 200 else []
            except Exception as error:
                actual = [repr(error)]
            if not has_answered(path, response.status_code) and response.status_code not in self._allowed:
                actual.append(f"{response.status_code} {response.text[:300]}")
            with self._lock:
                self.statuses[path, response.status_code] += 1
                self.problems += [f"{path} {query}: {problem}" for problem in actual]
                if response.status_code == 200:
                    for what, generation, size in sizes(path, query, answer):
                        self.sizes.setdefault((what, generation), set()).add(size)


def torn(path: str, query: dict[str, object], answer: Any):
    """What of one answer does not fit the rest of it."""
    if isinstance(answer, list):
        return
    for count, rows in (("num_digests", "digests"), ("num_alerts", "alerts")):
        lists = [value for key, value in answer.items() if key.endswith(rows) and isinstance(value, list)]
        if count in answer and lists and len(lists[0]) != answer[count]:
            yield f"{len(lists[0])} rows, but {count} is {answer[count]}"
    if "columns" in answer and "end" in answer:
        lengths = {column["length"] for column in answer["columns"]}
        length = answer["end"] - answer["begin"]
        # Occurrences without exponents on record have no column in their map.
        most = length - 1 if answer.get("is_reduced") else length
        is_exact = most == length and path != "/exponents"
        if len(lengths) != 1 or max(lengths) > most or (is_exact and lengths != {length}):
            yield f"columns of {lengths}, but {answer['begin']} to {answer['end']}"
    if path == "/overview" and sum(answer["measured"]) > answer["total"]:
        yield "more measured than there are"
    if path == "/execution/data" and [row["index"] for row in answer["executions"]] != list(
        range(answer["end"])
    ):
        yield "executions are missing"


def sizes(path: str, query: dict[str, object], answer: Any):
    """Sizes that all answers of one commit must agree on."""
    if path == "/status":
        for name in _SIZES:
            yield name, answer["generation"], answer[name]
    if path.startswith("/columns/") and set(query) == {"run"}:
        yield path.replace("/columns/", "num_"), answer["generation"], answer["total"]
    if query.get("only") == "bad":
        yield "num_bad_graph_executions", answer["generation"], answer["total"]


def _for_a_while(work: Callable[[int], None], pause: float, enough: Callable[[], bool]) -> None:
    begin = time.monotonic()
    for number in itertools.count():
        elapsed = time.monotonic() - begin
        if elapsed > _SECONDS and enough():
            return
        assert elapsed < _PATIENCE_S
        work(number)
        time.sleep(pause)


def _quick_asker(logdir: Path) -> Asker:
    asker = Asker(logdir)
    asker.plugin._viewer.run_library._make_loader = lambda run: RunLoader(run, poll_seconds=_POLL_S)
    return asker


def _check(clients: Clients) -> None:
    assert clients.problems[:5] == []
    assert [item for item in clients.sizes.items() if len(item[1]) > 1] == []
    assert clients.answered == {path for path, _ in fitting(Facts("."))}


def test_32_clients_get_whole_answers_while_the_run_grows_and_the_cache_is_dropped(
    tmp_path, monkeypatch, capsys
):
    cache = tmp_path / "cache"
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(cache))
    recording = small_program(tmp_path / "logs", steps=1)
    with _quick_asker(tmp_path / "logs") as asker, Clients(asker, allowed={503}) as clients:

        def grow_and_drop(number: int) -> None:
            for _ in range(min(20, _MAX_ROWS // (number + 1))):
                recording.trace("g1", "Log", full_health([float("nan")]))
                recording.execution("Fill", [full_health([1.0])], ids=[1], stack=["f1"])
            if number % 20 == 10:
                main(["clean", "--json"])
            if number % 20 == 19:
                shutil.rmtree(cache, ignore_errors=True)

        routes = {path for path, _ in fitting(Facts("."))}
        _for_a_while(grow_and_drop, 0.05, lambda: clients.num_generations > 5 and clients.answered == routes)
    recording.close()
    _check(clients)


def test_32_clients_get_clean_refusals_while_the_run_is_deleted_and_recorded_anew(tmp_path):
    logs = tmp_path / "logs"

    def record(number: int) -> None:
        shutil.rmtree(logs / "run", ignore_errors=True)
        small_program(logs / "run", steps=1 + number % 3, run_id=f"run{number % 2}").close()

    record(0)
    # A position or a name of the old run need not be in the new one.
    with _quick_asker(logs) as asker:
        for run in (".", "run"):
            asker.get("/status", {"run": run})
        with Clients(_Renamed(asker), allowed={400, 404, 503}) as clients:
            _for_a_while(record, 0.4, lambda: clients.num_generations > 2)
        last = 2
        record(last)
        deadline = time.monotonic() + PATIENCE_S
        while asker.get("/status", {"run": "run"}).json.get("num_graph_executions") != 4 * (1 + last % 3):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert clients.problems[:5] == []
    assert [item for item in clients.sizes.items() if len(item[1]) > 1] == []


class _Renamed:
    """Asks the run `run` where `.` is asked for."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    def get(self, path: str, query: dict[str, object]) -> Any:
        return self._asker.get(path, {**query, "run": "run"})


@pytest.mark.parametrize("answer", [{"num_digests": 2, "execution_digests": [1]}])
def test_a_torn_answer_is_seen(answer):
    assert list(torn("/execution/digests", {}, answer))
