"""`index/hosts.py`: the hosts of one job are read side by side and merged into one run by time."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import fsspec
import numpy as np
import pytest

from tb_debugger_plugin.analysis.catalog import distinct_names
from tb_debugger_plugin.events.fileset import GRAPH_EXECUTION_TRACES
from tb_debugger_plugin.events.framing import frame
from tb_debugger_plugin.events.locations import Location, location
from tb_debugger_plugin.index import workers
from tb_debugger_plugin.index.cache import Database, open_database
from tb_debugger_plugin.index.hosts import HostRows, RemotePool
from tb_debugger_plugin.index.indexer import COMMIT_BYTES, Indexer
from tb_debugger_plugin.index.registry import Registry
from tb_debugger_plugin.index.runs import find_runs
from tb_debugger_plugin.index.source import Batch, FileState
from tests.support.asking import Asker
from tests.support.checkout import ROOT
from tests.support.events import PATIENCE_S, Recording, full_health, small_program, vector
from tests.support.processes import wait_until

ALONE = 1 << 60  # bytes that make processes worth while
HOSTS = 3

_TRACES = """
    SELECT hosts.name, graphs.graph_id, ops.name, slot, sites.device, t.wall_time, t.position, t.health,
      t.nan, t.size, shapes.text
    FROM graph_executions t JOIN sites USING (site) JOIN ops USING (op) JOIN hosts ON hosts.host = sites.host
      JOIN graphs ON graphs.graph = ops.graph LEFT JOIN shapes ON shapes.shape = t.shape
    ORDER BY idx
"""
_EXECUTIONS = """
    SELECT hosts.name, op_types.name, e.wall_time, health
    FROM executions e JOIN hosts USING (host) JOIN op_types USING (op_type) ORDER BY idx
"""


def _write_job(folder: Path, *, each: int = 60, seed: int = 0) -> None:
    """Hosts that do the same with different values, at different speeds, by clocks that jump."""
    rng = np.random.default_rng(seed)
    for host in range(HOSTS):
        recording = Recording(folder, host=f"host{host}", run_id="job", process_id=host)
        recording.graph("g", "step")
        now = 1000.0
        for number in range(each + 20 * host):
            now += rng.choice([0.001, 0.01, 0.3, -0.05]) + host * 1e-7
            name = f"op{rng.integers(8 + host)}"
            value = full_health([[float("nan"), 1.0][rng.integers(2)]]) if number % 5 else vector([1.0])
            recording.trace("g", name, value, slot=int(rng.integers(2)), at=now)
            if not number % 7:
                recording.execution(name.title(), [full_health([1.0])], at=now)
        recording.close()


@contextlib.contextmanager
def _indexed(
    folder: Location, *, commit_bytes: int = COMMIT_BYTES, worth_bytes: int = ALONE
) -> Iterator[tuple[Indexer, Database]]:
    (run,) = find_runs(folder)
    database = open_database(run)
    indexer = Indexer(run, database.connection, commit_bytes=commit_bytes, worth_bytes=worth_bytes)
    try:
        indexer.reset()
        while indexer.advance().more:
            pass
        yield indexer, database
    finally:
        indexer.close()
        database.close()


def _told(folder: Location, **options) -> tuple[list, list]:
    with _indexed(folder, **options) as (_, database):
        return _lists(database)


def _lists(database: Database) -> tuple[list, list]:
    connection = database.connection
    return connection.execute(_TRACES).fetchall(), connection.execute(_EXECUTIONS).fetchall()


def _merged_by_hand(folder: Path, alone: Path) -> tuple[list, list]:
    """Each host's files indexed alone, then put in order one row at a time."""
    actual: tuple[list, list] = ([], [])
    for host in range(HOSTS):
        shutil.rmtree(alone, ignore_errors=True)
        alone.mkdir()
        for path in folder.glob(f"*.host{host}.*"):
            shutil.copy(path, alone)
        for rows, at, merged in zip(_told(alone), (5, 2), actual, strict=True):
            latest = float("-inf")
            for number, row in enumerate(rows):
                latest = max(latest, row[at])
                merged.append(((latest, host, number), row))
    return tuple([row for _, row in sorted(merged, key=lambda item: item[0])] for merged in actual)


@pytest.mark.parametrize("commit_bytes", [900, 4000, COMMIT_BYTES])
def test_hosts_are_merged_as_each_of_them_alone_would_be_by_hand(tmp_path, commit_bytes):
    _write_job(tmp_path / "job")
    expected = _merged_by_hand(tmp_path / "job", tmp_path / "alone")
    assert len(expected[0]) == 240 and len({row[0] for row in expected[0]}) == HOSTS
    assert _told(tmp_path / "job", commit_bytes=commit_bytes) == expected


def test_hosts_elsewhere_are_merged_as_they_are_here(tmp_path):
    _write_job(tmp_path)
    files, url = fsspec.filesystem("memory"), f"memory://job{uuid.uuid4().hex}"
    try:
        files.put(str(tmp_path), url, recursive=True)
        # What is in the memory of this process, no other one could read.
        assert _told(location(url), commit_bytes=4000, worth_bytes=0) == _told(tmp_path)
    finally:
        files.rm(url, recursive=True)


@pytest.mark.parametrize("commit_bytes", [2000, COMMIT_BYTES])
def test_processes_give_the_very_tables_that_one_process_gives(job, monkeypatch, commit_bytes):
    expected = _told(job, commit_bytes=commit_bytes)
    started = _count_workers(monkeypatch)
    with _indexed(job, commit_bytes=commit_bytes, worth_bytes=0) as (indexer, database):
        assert _lists(database) == expected
        assert started == [0, 1] and indexer._reader._lists[GRAPH_EXECUTION_TRACES]._workers is None
        numbers = database.connection.execute("SELECT * FROM sites ORDER BY site").fetchall()
    with _indexed(job, commit_bytes=commit_bytes) as (_, database):
        assert database.connection.execute("SELECT * FROM sites ORDER BY site").fetchall() == numbers


@pytest.fixture
def job(tmp_path, monkeypatch) -> Path:
    """A folder with hosts that this machine reads in two processes."""
    monkeypatch.setattr("tb_debugger_plugin.index.hosts.num_processors", lambda: 2)
    _write_job(tmp_path)
    return tmp_path


def _read_on(traces: HostRows, state: FileState, limit: int) -> list[Batch]:
    """Reads the only host to the end of its file."""
    batches = []
    while not batches or batches[-1].more:
        (batch,) = traces.start_reading([batches[-1].state if batches else state], limit)()
        batches.append(batch)
    return batches


def _records(batches: list[Batch]) -> list[tuple[int, int, float]]:
    """Where each record begins and ends, and the size of its tensor."""
    return [
        record
        for batch in batches
        if (rows := batch.rows) is not None
        for record in zip(
            rows.offsets.tolist(), rows.ends.tolist(), rows.columns["size"].tolist(), strict=True
        )
    ]


@pytest.mark.parametrize("is_damaged", [False, True])
def test_one_host_is_read_in_whole_row_groups_and_again_from_each_of_them(tmp_path, is_damaged):
    recording = Recording(tmp_path)
    recording.graph("g", "step")
    for number in range(100):
        recording.trace("g", f"op{number % 3}", full_health(np.ones(number)))
    path = recording.files.path(GRAPH_EXECUTION_TRACES)
    recording.close()
    if is_damaged:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    (run,) = find_runs(tmp_path)

    def traces(row_group: int) -> HostRows:
        pool = RemotePool(run.folder)
        sizes = {"worth_bytes": ALONE, "row_group": row_group}
        return HostRows(run.file_sets, GRAPH_EXECUTION_TRACES, Registry(), pool, **sizes)

    (whole,) = _read_on(traces(1), FileState(), COMMIT_BYTES)
    batches = _read_on(traces(8), FileState(), 1500)
    sizes = [len(_records([batch])) for batch in batches]
    assert len(sizes) > 3 and all(size and size % 8 == 0 for size in sizes[:-1])
    records = _records(batches)
    assert records == _records([whole]) and batches[-1].state == whole.state
    notices = [notice for batch in batches for notice in batch.notices]
    assert notices == whole.notices and bool(notices) is is_damaged
    for number, batch in enumerate(batches[:-1]):
        assert _records(_read_on(traces(8), batch.state, 1500)) == records[sum(sizes[: number + 1]) :]


def _count_workers(monkeypatch) -> list[int]:
    started: list[int] = []
    make = workers._Worker.__init__

    def note(self) -> None:
        started.append(len(started))
        make(self)

    monkeypatch.setattr(workers._Worker, "__init__", note)
    return started


def test_what_a_worker_finds_damaged_is_told(job):
    (victim,) = job.glob(f"*.host1.{GRAPH_EXECUTION_TRACES}")
    content = bytearray(victim.read_bytes())
    content[20] ^= 0xFF
    victim.write_bytes(content + frame(b"no event"))
    with _indexed(job, worth_bytes=0) as (_, database):
        notices = database.connection.execute(
            "SELECT file, position FROM notices ORDER BY position"
        ).fetchall()
        assert notices == [(victim.name, 0), (victim.name, len(content))]
        assert len(_lists(database)[0]) == 239


@pytest.mark.parametrize("what", ["never starts", "is killed"])
def test_without_its_workers_the_viewer_reads_by_itself(job, monkeypatch, caplog, what):
    expected = _told(job)
    if what == "never starts":
        monkeypatch.setattr(sys, "executable", str(job / "no such program"))
    else:
        send = workers._Worker.send

        def kill_after_sending(self, request) -> None:
            send(self, request)
            self._process.kill()
            self._process.wait()

        monkeypatch.setattr(workers._Worker, "send", kill_after_sending)
    assert _told(job, worth_bytes=0) == expected
    assert "because processes failed" in caplog.text


def test_hosts_that_are_behind_are_followed_live(tmp_path):
    recordings = [Recording(tmp_path, host=f"host{n}", run_id="job", process_id=n) for n in range(2)]
    for n, recording in enumerate(recordings):
        recording.trace("g", f"first{n}", None, at=1000.0 + n)
    with _indexed(tmp_path) as (indexer, database):
        recordings[1].trace("g", "ahead", None, at=1005.0)
        indexer.advance()
        recordings[0].trace("g", "late", None, at=1002.0)
        indexer.advance()
        names = [row[2] for row in _lists(database)[0]]
    assert names == ["first0", "first1", "ahead", "late"]
    for recording in recordings:
        recording.close()


_VIEWER = """
import sys
from pathlib import Path
from tb_debugger_plugin.index import hosts
from tb_debugger_plugin.index.cache import open_database
from tb_debugger_plugin.index.indexer import Indexer
from tb_debugger_plugin.index.runs import find_runs
from tb_debugger_plugin.index.source import Batch, FileState
hosts.num_processors = lambda: 2
(run,) = find_runs(Path(sys.argv[1]))
indexer = Indexer(run, open_database(run).connection, commit_bytes=3000, worth_bytes=0)
for _ in range(3):
    assert indexer.advance().more
workers = indexer._reader._lists["graph_execution_traces"]._workers._workers
print(*(worker._process.pid for worker in workers), flush=True)
while True:
    pass
"""


def test_a_viewer_killed_while_it_reads_leaves_no_process_and_the_next_one_goes_on(tmp_path):
    _write_job(tmp_path / "job")
    command = [sys.executable, "-c", _VIEWER, str(tmp_path / "job")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as viewer:
        assert viewer.stdout is not None
        pids = [int(pid) for pid in viewer.stdout.readline().split()]
        assert len(pids) == 2 and all(map(_is_alive, pids))
        viewer.kill()
    assert wait_until(lambda: not any(map(_is_alive, pids)), PATIENCE_S)
    (run,) = find_runs(tmp_path / "job")
    database = open_database(run)
    done = len(_lists(database)[0])
    indexer = Indexer(run, database.connection)
    while indexer.advance().more:
        pass
    actual = _lists(database)
    indexer.close(), database.close()
    assert 0 < done < 240
    assert actual == _merged_by_hand(tmp_path / "job", tmp_path / "alone")


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_programs_that_shared_a_folder_are_served_apart_also_while_they_run(tmp_path):
    programs = [
        small_program(tmp_path, steps=1, run_id="first"),
        small_program(tmp_path, steps=2, run_id="second", host="worker1", start=2000.0),
    ]
    with Asker(tmp_path) as asker:
        assert list(asker.json("/runs", {})) == [".", ". (2)"]

        def counts() -> list[int]:
            return [asker.json("/status", {"run": run})["num_graph_executions"] for run in (".", ". (2)")]

        assert counts() == [4, 8]
        programs[1].trace("g1", "Log", full_health([1.0]))
        assert wait_until(lambda: counts() == [4, 9], PATIENCE_S)
    for program in programs:
        program.close()


@pytest.mark.parametrize(
    ("hosts", "names"),
    [
        ([("a", 1), ("b", 1)], ["a", "b"]),
        ([("a", 1), ("b", 1), ("a", 2)], ["a (process 1)", "b", "a (process 2)"]),
        ([("a", 0), ("a", None)], ["a (0)", "a (1)"]),
        ([("a", 7), ("a", 7)], ["a (process 7) (0)", "a (process 7) (1)"]),
    ],
)
def test_hosts_of_one_name_are_told_apart(hosts, names):
    assert distinct_names(hosts) == names


def test_ctrl_c_is_left_to_the_viewer():
    with contextlib.closing(workers._Worker()) as worker:
        assert os.getsid(worker._process.pid) != os.getsid(0)
        os.killpg(os.getpgid(worker._process.pid), signal.SIGCONT)
    assert worker._process.returncode == 0
