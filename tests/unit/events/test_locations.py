"""`events/locations.py`: folders on other machines are read like local ones."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import fsspec
import pytest

from tb_debugger_plugin.analysis.lists.tables import graph_executions_page
from tb_debugger_plugin.analysis.snapshot import Range, open_snapshot
from tb_debugger_plugin.analysis.status import status
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES
from tb_debugger_plugin.events.framing import frame
from tb_debugger_plugin.events.locations import Location, RemotePath, location
from tb_debugger_plugin.events.tail import TailMode
from tb_debugger_plugin.index.loader import RunLoader
from tb_debugger_plugin.index.runs import Problem, find_runs, has_debug_events
from tests.support.asking import Asker
from tests.support.events import PATIENCE_S, full_health, loaded, small_program, snapshot_of
from tests.support.processes import wait_until
from tests.support.tails import build_tail


@pytest.fixture
def remote() -> Iterator[str]:
    """An empty folder elsewhere."""
    url = f"memory://logs{uuid.uuid4().hex}"
    yield url
    files = fsspec.filesystem("memory")
    if files.exists(url):
        files.rm(url, recursive=True)


def _upload(folder: Path, url: str) -> None:
    files = fsspec.filesystem("memory")
    for path in folder.rglob("*"):
        if path.is_file():
            files.pipe(f"{url}/{path.relative_to(folder).as_posix()}", path.read_bytes())


def _told(folder: Location):
    with snapshot_of(folder) as snapshot:
        actual = status(snapshot)
        page = graph_executions_page(snapshot, Range(0, snapshot.num_graph_executions))
        return actual["num_executions"], actual["num_alerts"], page.columns["nan"].tolist(), page.dictionaries


def test_runs_elsewhere_are_found_and_say_what_local_ones_say(tmp_path, remote):
    small_program(tmp_path / "a" / "b").close()
    small_program(tmp_path / "c", steps=1).close()
    _upload(tmp_path, remote)
    logdir = location(remote + "/")
    assert has_debug_events(logdir)
    runs = {run.name: run for run in find_runs(logdir)}
    assert set(runs) == {"a/b", "c"}
    assert _told(runs["a/b"].folder) == _told(tmp_path / "a")


def test_a_dump_root_itself_can_be_elsewhere(small_run, remote):
    _upload(small_run, remote)
    (run,) = find_runs(location(remote))
    assert (run.name, run.start_time) == (".", pytest.approx(1000.001))


def test_a_folder_that_is_not_there_holds_no_runs(remote):
    assert find_runs(location(remote)) == [] and not has_debug_events(location(remote))


def test_a_run_elsewhere_is_followed_and_read_anew_when_it_is_replaced(tmp_path, remote):
    recording = small_program(tmp_path, steps=1)
    _upload(tmp_path, remote)
    with closing(loaded(location(remote), poll_seconds=0.01)) as loader:
        recording.trace("g1", "Log", full_health([1.0]))
        _upload(tmp_path, remote)
        _until(loader, 5)
        recording.close()
        for path in tmp_path.iterdir():
            path.unlink()
        small_program(tmp_path, steps=1).close()
        _upload(tmp_path, remote)
        _until(loader, 4)


def _until(loader: RunLoader, num_graph_executions: int) -> None:
    def is_read() -> bool:
        with open_snapshot(loader) as snapshot:
            return snapshot.num_graph_executions == num_graph_executions

    assert wait_until(is_read, PATIENCE_S)


def test_tail_files_elsewhere_are_read_too(tmp_path, remote):
    recording = small_program(tmp_path, steps=1)
    event = recording.trace_event("g1", "Log", full_health([1.0])).SerializeToString()
    size = recording.files.path(GRAPH_EXECUTION_TRACES).stat().st_size
    recording.files.tail_path(GRAPH_EXECUTION_TRACES).write_bytes(
        build_tail([event], mode=TailMode.JOURNAL, file_size=size)
    )
    ring = [recording.execution_event("Late").SerializeToString()]
    size = recording.files.path(EXECUTION).stat().st_size
    recording.files.tail_path(EXECUTION).write_bytes(build_tail(ring, mode=TailMode.RING, file_size=size))
    _upload(recording.close(), remote)
    with snapshot_of(location(remote)) as snapshot:
        assert (snapshot.num_graph_executions, snapshot.num_executions) == (5, 3)


def test_a_long_file_elsewhere_is_read_in_steps(tmp_path, remote):
    recording = small_program(tmp_path, steps=1)
    events = [recording.trace_event("g1", "Log", full_health([1.0])).SerializeToString() for _ in range(500)]
    recording.files.path(GRAPH_EXECUTION_TRACES).write_bytes(b"".join(map(frame, events)))
    _upload(recording.close(), remote)
    with snapshot_of(location(remote), commit_bytes=5000) as snapshot:
        assert snapshot.num_graph_executions == 500 and snapshot.generation > 10


def test_tensorboard_and_the_command_line_take_urls(small_run, remote, tbdbg):
    _upload(small_run, remote)
    with Asker(remote) as asker:
        assert list(asker.json("/runs")) == ["."]
    assert tbdbg.json("info", remote)["."]["num_graph_executions"] == 8
    assert tbdbg("dump", remote).count("graph_execution_trace:") == 8


def test_a_place_on_this_machine_is_a_path():
    assert location("~/logs") == Path.home() / "logs"
    assert location("logs") == Path("logs") and location("file:///logs/a") == Path("/logs/a")


def test_urls_that_nobody_reads_are_refused_with_a_sentence():
    with pytest.raises(UsageError, match="nonsense://"):
        location("nonsense://logs")


def test_whatever_a_service_says_is_an_error_of_the_system(monkeypatch):
    class Broken:
        def __getattr__(self, name):
            raise RuntimeError("the service is down")

    monkeypatch.setattr("tb_debugger_plugin.events.locations._file_system", lambda protocol: Broken())
    path = RemotePath("s3://bucket/logs")
    for ask in (path.open, path.stat, path.iterdir):
        with pytest.raises(OSError, match="the service is down"):
            ask()
    problems: list[Problem] = []
    assert path.is_file() is False and find_runs(path, problems.append) == []
    message = "s3://bucket/logs cannot be read: the service is down."
    assert problems == [Problem("s3://bucket/logs", message)]
