"""`index/cache.py`: several viewers share a logdir, are killed, and watch programs that still run.

Each viewer here is a process of its own, as users start them.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tb_debugger_plugin.events import tail
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.index.runs import find_runs
from tests.support.asking import PREFIX
from tests.support.checkout import ROOT
from tests.support.events import PATIENCE_S, Recording, full_health, loaded, small_program
from tests.support.serving import fetch, tensorboard
from tests.support.tails import build_tail

_COUNTS = ("num_executions", "num_graph_executions", "num_bad_graph_executions", "num_alerts")

#: Reads a run in many small commits.
_INDEXING = """
import sys
from pathlib import Path
from tb_debugger_plugin.index.loader import RunLoader
from tb_debugger_plugin.index.runs import find_runs
(run,) = find_runs(Path(sys.argv[1]))
loader = RunLoader(run, commit_bytes=int(sys.argv[2]))
print("begins", flush=True)
loader.wait(600)
loader.close()
"""


def _status(address: str, run: str = ".") -> dict[str, object]:
    _, _, content = fetch(f"{address}{PREFIX}/status", {"run": run})
    actual: dict[str, object] = json.loads(content)
    return actual


def _until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_two_tensorboards_and_the_command_line_look_at_one_growing_run(tmp_path):
    recording = small_program(tmp_path / "logs", steps=3)
    with ExitStack() as viewers:
        environment = {"TB_DEBUGGER_CACHE": str(tmp_path / "cache")}
        addresses = [
            viewers.enter_context(tensorboard(tmp_path / "logs", log, **environment))
            for log in (tmp_path / "one.txt", tmp_path / "two.txt")
        ]
        for address in addresses:
            assert _status(address)["num_graph_executions"] == 12
        for _ in range(5):
            recording.trace("g1", "Log", full_health([float("nan")]))
        command = [sys.executable, "-m", "tests.support.without_tensorflow", "tbdbg", "info", "--json"]
        done = subprocess.run(
            [*command, str(tmp_path / "logs")],
            cwd=ROOT,
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
        )
        expected = (6, 17, 14, 17)
        assert tuple(json.loads(done.stdout)["."][name] for name in _COUNTS) == expected, done.stderr
        for address in addresses:
            _until(lambda there=address: tuple(_status(there)[name] for name in _COUNTS) == expected)
    recording.close()
    assert len(list((tmp_path / "cache").glob("*.duckdb"))) == 1


def test_new_events_are_there_soon_also_in_a_circular_buffer(tmp_path):
    recording = small_program(tmp_path / "logs" / "all", steps=1)
    ring = small_program(tmp_path / "logs" / "ring", steps=1, run_id="ring", circular_buffer_size=3)
    lags = []
    with tensorboard(tmp_path / "logs", tmp_path / "said.txt") as address:
        assert _status(address, "all")["num_graph_executions"] == 4
        for number in range(5, 9):
            recording.trace("g1", "Log", full_health([1.0]))
            begin = time.monotonic()
            _until(lambda n=number: _status(address, "all")["num_graph_executions"] == n)
            lags.append(time.monotonic() - begin)
        for turn in range(1, 4):
            _turn(ring, turn)
            _until(lambda n=turn: _sizes(address, "ring")[-3:] == [3.0 * n, 3.0 * n + 1, 3.0 * n + 2])
    recording.close()
    ring.close()
    print(f"New events were there after {max(lags):.2f} s at most.")


def _turn(ring: Recording, turn: int) -> None:
    """The ring holds three traces of tensors of the sizes ``3 turn`` to ``3 turn + 2``, and none else."""
    traces = [ring.trace_event("g1", "Log", full_health([1.0] * (3 * turn + n))) for n in range(3)]
    path = ring.files.tail_path("graph_execution_traces")
    path.with_suffix(".new").write_bytes(
        build_tail(
            [trace.SerializeToString() for trace in traces],
            mode=tail.TailMode.RING,
            file_size=ring.files.path("graph_execution_traces").stat().st_size,
            tail=1000 * turn,
        )
    )
    path.with_suffix(".new").replace(path)


def _sizes(address: str, run: str) -> list[float | None]:
    _, _, content = fetch(f"{address}{PREFIX}/graph_execution/data", {"run": run})
    return [row["health"]["size"] for row in json.loads(content)["graph_executions"]]


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of some megabytes with many graphs, ops and executions."""
    recording = Recording(tmp_path_factory.mktemp("long"), mode=TensorDebugMode.FULL_HEALTH)
    good, bad = full_health([1.0, 2.0]), full_health([float("nan")])
    for graph in range(40):
        recording.graph(f"g{graph}", f"f{graph}")
        for op in range(25):
            recording.op(f"g{graph}", f"op{op}", "Log", [f"op{op - 1}:0"] if op else [])
        traces = [
            recording.trace_event(f"g{graph}", f"op{n % 25}", bad if n % 99 == 0 else good)
            for n in range(500)
        ]
        recording.writer.write("graph_execution_traces", *traces)
        calls = [recording.execution_event(f"Op{n}", [good], ids=[n], inputs=[n - 1]) for n in range(50)]
        recording.writer.write("execution", *calls)
    return recording.close()


#: Numbers that any missing, doubled or moved row changes. Sites are numbered as they are met, so by name.
_SUMS = {
    "graph_executions": "SELECT count(*), sum(hash(t.idx, t.wall_time, o.name, slot, health, nan)::HUGEINT)"
    " FROM graph_executions t JOIN sites USING (site) JOIN ops o USING (op)",
    "bad_graph_executions": "SELECT count(*), sum(hash(bad, idx)::HUGEINT) FROM bad_graph_executions",
    "executions": "SELECT count(*), sum(hash(idx, e.wall_time, name, health)::HUGEINT) FROM executions e"
    " JOIN op_types USING (op_type)",
    "outputs": "SELECT count(*), sum(hash(idx, slot, tensor_id, size)::HUGEINT) FROM execution_outputs",
    "inputs": "SELECT count(*), sum(hash(idx, slot, tensor_id)::HUGEINT) FROM execution_inputs",
    "ops": "SELECT count(*), sum(hash(graph_id, o.name, type)::HUGEINT) FROM ops o JOIN graphs USING (graph)",
    "edges": "SELECT count(*), sum(hash(o.name, input_slot, s.name)::HUGEINT) FROM edges e"
    " JOIN ops o ON o.op = e.op JOIN ops s ON s.op = e.source_op",
}


def _content(logdir: Path) -> dict[str, tuple[int, int]]:
    """What the tables say."""
    loader = loaded(logdir)
    try:
        with loader.reading() as cursor:
            return {name: cursor.execute(query).fetchone() for name, query in _SUMS.items()}
    finally:
        loader.close()


def _kill_while_it_reads(logdir: Path, commit_bytes: int, delay: float) -> bool:
    """Whether the viewer was still at it."""
    command = [sys.executable, "-c", _INDEXING, str(logdir), str(commit_bytes)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as viewer:
        assert viewer.stdout is not None and viewer.stdout.readline() == b"begins\n"
        time.sleep(delay)
        viewer.send_signal(signal.SIGKILL)
        return viewer.wait() == -signal.SIGKILL


@pytest.mark.parametrize(
    "times", [pytest.param(4, id="4 times"), pytest.param(100, id="100 times", marks=pytest.mark.long)]
)
def test_a_viewer_that_is_killed_while_it_reads_is_right_when_it_starts_again(
    long_run, times, tmp_path, monkeypatch
):
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(tmp_path / "fresh"))
    fresh = _content(long_run)
    assert fresh["graph_executions"][0] == 20_000 and fresh["executions"][0] == 2000
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(tmp_path / "killed"))
    rng = random.Random(times)
    killed = 0
    for number in range(times):
        killed += _kill_while_it_reads(long_run, 1 << 16, rng.random() * 1.5)
        if number % 10 == 9:
            assert _content(long_run) == fresh
            (database,) = (tmp_path / "killed").glob("*.duckdb")
            database.unlink()
    assert killed
    assert _content(long_run) == fresh
    (run,) = find_runs(long_run)
    assert len(list((tmp_path / "killed").glob("*.duckdb"))) == 1 and run.name == "."
