"""`pipeline/cluster.py`: processes of a Dask cluster make the tables of the local index, or say why not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import duckdb
import pytest

pytest.importorskip("distributed", reason="a cluster needs the extra [cluster]")
from distributed.core import Status
from distributed.process import AsyncProcess

from tb_debugger_plugin.cli.main import main
from tb_debugger_plugin.errors import DebuggerError
from tb_debugger_plugin.events.fileset import GRAPH_EXECUTION_TRACES
from tb_debugger_plugin.events.locations import location
from tb_debugger_plugin.index.parquet import MANIFEST, read_manifest
from tb_debugger_plugin.index.runs import find_runs
from tb_debugger_plugin.index.source import FileState
from tb_debugger_plugin.pipeline import cluster
from tb_debugger_plugin.pipeline.survey import walk
from tests.support.answers import answers_of
from tests.support.buckets import forgotten, new_bucket, object_store, upload, use_store
from tests.support.disks import with_disks
from tests.support.events import small_program
from tests.support.jobs import write_job
from tests.support.processes import is_running, wait_until
from tests.support.serving import free_port
from tests.unit.pipeline.test_pipeline import convert_here

# Dask's event loops close their sockets some time after they are told to.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

_CHUNK_BYTES, _ROWS_A_PART = 2000, 40
_TBDBG = (sys.executable, "-c", "import sys; from tb_debugger_plugin.cli.main import main; sys.exit(main())")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def client() -> Iterator[object]:
    """Two processes."""
    with cluster.cluster(workers=2) as client:
        yield client


def _convert(client, folder, out, report=lambda progress: None):
    (run,) = find_runs(folder)
    sizes = {"chunk_bytes": _CHUNK_BYTES, "rows_a_part": _ROWS_A_PART}
    return cluster.convert(client, run, str(out), **sizes, report=report)


def _bytes(folder: Path) -> dict[str, bytes]:
    """The tables by file name, but `meta`, which says when they were made."""
    names = {path.name for path in folder.glob("*.parquet")} - {"meta.parquet"}
    return {name: (folder / name).read_bytes() for name in (*names, MANIFEST)}


def test_two_processes_make_the_tables_of_the_local_index_whose_bytes_are_those_of_one(tmp_path, client):
    write_job(tmp_path / "job")
    reports: list[cluster.Progress] = []
    rows = _convert(client, tmp_path / "job", tmp_path / "out", reports.append)
    expected, actual = answers_of(tmp_path / "job"), answers_of(tmp_path / "out")
    assert rows["graph_execution_traces"] == len(expected["graph_executions"]) > 150
    for table in expected:
        assert actual[table] == expected[table], table
    parts = convert_here(tmp_path / "job", tmp_path / "here", _CHUNK_BYTES, _ROWS_A_PART, backwards=True)
    assert _bytes(tmp_path / "out") == _bytes(tmp_path / "here")
    assert parts > 4 and {one.step for one in reports} == {"survey", "write"}
    assert reports[-1].done == reports[-1].total == parts


def test_columns_are_those_of_export(tmp_path, client):
    write_job(tmp_path / "job")
    _convert(client, tmp_path / "job", tmp_path / "out")
    assert main(["export", str(tmp_path / "job"), "--parquet", str(tmp_path / "exported")]) == 0
    exported = read_manifest(tmp_path / "exported")
    for step in exported.steps:
        for table in step:
            columns = [
                duckdb.sql(f"DESCRIBE FROM '{folder}/{table}*.parquet'").fetchall()
                for folder in (tmp_path / "out", tmp_path / "exported")
                if list(folder.glob(f"{table}*.parquet"))
            ]
            assert len(columns) == 2 and columns[0] == columns[1], table


@pytest.mark.parametrize("step", ["survey", "write"])
def test_a_worker_that_is_killed_is_replaced_and_the_tables_are_whole(tmp_path, step):
    write_job(tmp_path / "job")
    convert_here(tmp_path / "job", tmp_path / "here", _CHUNK_BYTES, _ROWS_A_PART)
    killed = []

    def kill(progress):
        if progress.step == step and progress.done == 3 and not killed:
            killed.append(victim)
            os.kill(victim, signal.SIGKILL)

    with cluster.cluster(workers=2) as client:
        victim = min(client.run(os.getpid).values())
        _convert(client, tmp_path / "job", tmp_path / "out", kill)
    assert killed
    # What it was writing may be left in a folder that no viewer looks into.
    assert _bytes(tmp_path / "out") == _bytes(tmp_path / "here")


def test_workers_that_die_whenever_they_try_are_an_error_with_a_sentence():
    with (
        cluster.cluster(workers=1) as client,
        pytest.raises(DebuggerError, match=r"died again and again.*memory is too small"),
        cluster._sentences(),
    ):
        client.submit(os._exit, 1, pure=False).result()


def test_a_worker_that_cannot_be_closed_hides_no_error_and_is_closed_all_the_same(monkeypatch):
    join, refused = AsyncProcess.join, []

    async def refuse_once(process, timeout=None):
        if not refused:
            refused.append(process)
            raise AssertionError("can only join a started process")
        return await join(process, timeout)

    monkeypatch.setattr(AsyncProcess, "join", refuse_once)
    with pytest.raises(ZeroDivisionError), cluster.cluster(workers=2) as client:
        pids = list(client.run(os.getpid).values())
        raise ZeroDivisionError
    assert refused
    assert wait_until(lambda: not any(map(is_running, pids)), 30)


@pytest.mark.parametrize("worker", ["paused", "gone"])
def test_a_cluster_without_a_worker_that_takes_tasks_is_given_up(tmp_path, monkeypatch, worker):
    write_job(tmp_path / "job", hosts=1)
    monkeypatch.setattr(cluster, "PATIENCE_S", 1)
    with cluster.cluster(workers=1) as client:
        if worker == "paused":
            client.run(lambda dask_worker: setattr(dask_worker, "status", Status.paused))
        else:
            client.retire_workers(list(client.nthreads()), close_workers=True)
        with pytest.raises(DebuggerError, match=r"no worker that takes tasks for 1 seconds.* 2 GB or more"):
            _convert(client, tmp_path / "job", tmp_path / "out")
    assert find_runs(tmp_path / "out") == []


def test_files_that_a_worker_cannot_see_are_an_error_and_the_folder_is_no_run(tmp_path, client):
    write_job(tmp_path / "job", hosts=1)
    _convert(client, tmp_path / "job", tmp_path / "out")
    (run,) = find_runs(tmp_path / "job")
    (tmp_path / "job").rename(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="No such file"):
        cluster.convert(client, run, str(tmp_path / "out"))
    assert find_runs(tmp_path / "out") == []


def test_a_file_that_a_worker_finds_missing_or_changed_is_an_error(tmp_path):
    write_job(tmp_path / "job", hosts=1)
    (run,) = find_runs(tmp_path / "job")
    files = run.file_sets[0]
    walked = walk(files, 0, GRAPH_EXECUTION_TRACES, 0, FileState(), 1 << 20)
    cluster._survey(walked.chunks[0], walked.state)
    path = files.path(GRAPH_EXECUTION_TRACES)
    for change in (lambda: path.write_bytes(path.read_bytes()[:-5]), path.unlink):
        change()
        with pytest.raises(DebuggerError, match=f"{path.name} changed while it was read"):
            cluster._survey(walked.chunks[0], walked.state)


def test_a_part_that_is_in_no_folder_is_an_error(tmp_path, client):
    write_job(tmp_path / "job", hosts=1)

    def remove(progress):
        if progress.step == "write" and progress.done == progress.total:
            next((tmp_path / "out").glob("graph_executions-*.parquet")).unlink()

    with pytest.raises(DebuggerError, match="every worker must write into the same folder"):
        _convert(client, tmp_path / "job", tmp_path / "out", remove)
    assert find_runs(tmp_path / "out") == []


def test_workers_without_this_version_are_named(client, monkeypatch):
    client.run(lambda: sys.modules.__setitem__("tb_debugger_plugin.events.version", None))
    with pytest.raises(DebuggerError, match=r"2 workers cannot help: .* has no tb-debugger-plugin"):
        cluster._check_workers(client)
    client.run(lambda: sys.modules.pop("tb_debugger_plugin.events.version"))
    cluster._check_workers(client)
    monkeypatch.setattr(cluster, "__version__", "99")
    with pytest.raises(DebuggerError, match=r"has tb-debugger-plugin .*; install 99"):
        cluster._check_workers(client)


def test_the_verb_asks_a_scheduler_and_names_the_folders_of_all_runs(tmp_path, client, tbdbg, monkeypatch):
    for name in ("a", "b"):
        small_program(tmp_path / "logs" / name).close()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cluster, "Client", lambda address, timeout: _Lent(client))
    actual = tbdbg.json("index", "logs", "--to", "out", "--scheduler", "tcp://head:8786")
    assert [actual[name]["folder"] for name in "ab"] == [str(tmp_path / "out" / name) for name in "ab"]
    assert [run.name for run in find_runs(tmp_path / "out")] == ["a", "b"]
    assert "holds tables already" in tbdbg.error(
        "index", "out", "--to", "again", "--scheduler", "tcp://head:8786"
    )


class _Lent:
    """A client that outlives the block that would close it."""

    def __init__(self, client):
        self._client = client

    def __getattr__(self, name):
        return getattr(self._client, name)

    def close(self, timeout):
        pass


def test_a_scheduler_that_does_not_answer_is_named(tmp_path, tbdbg, monkeypatch):
    small_program(tmp_path / "run").close()
    monkeypatch.setattr(cluster, "CONNECT_S", 1)
    address = f"tcp://127.0.0.1:{free_port()}"
    said = tbdbg.error("index", tmp_path, "--to", tmp_path / "out", "--scheduler", address)
    assert f"No scheduler of Dask answers at {address}" in said and said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_without_dask_the_verb_says_what_to_install(tmp_path, monkeypatch, tbdbg):
    small_program(tmp_path / "run").close()
    monkeypatch.delitem(sys.modules, "tb_debugger_plugin.pipeline.cluster")
    monkeypatch.delattr("tb_debugger_plugin.pipeline.cluster")
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert "tb-debugger-plugin[cluster]" in tbdbg.error("index", tmp_path / "run", "--to", tmp_path / "out")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--workers", "2"], "need --to OUT"),
        (["--to", "out", "--workers", "0"], "'0' is no number of processes"),
        (["--to", "out", "--workers", "2", "--scheduler", "tcp://a:1"], "not allowed with"),
    ],
)
def test_a_wrong_command_line_says_what_is_wrong(tmp_path, capsys, words, sentence):
    with pytest.raises(SystemExit) as exit_:
        main(["index", str(tmp_path), *words])
    assert exit_.value.code == 2 and sentence in capsys.readouterr().err


def test_beam_says_what_to_use_instead(tbdbg):
    said = tbdbg.error("beam", "logs", "out", "--", "--runner=DirectRunner", code=2)
    assert "tbdbg index LOGDIR --to OUT" in said and said.count("\n") == 1


@contextmanager
def _scheduler() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A scheduler with one worker, each a command of its own, as on several machines."""
    address = f"tcp://127.0.0.1:{free_port()}"
    dask = [sys.executable, "-m"]
    port = address.rpartition(":")[2]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    head = [*dask, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"]
    worker = [*dask, "distributed.cli.dask_worker", address, "--nthreads", "1", "--memory-limit", "0"]
    with (
        subprocess.Popen(head, **quiet) as scheduler,
        subprocess.Popen([*worker, "--no-dashboard"], **quiet) as nanny,
    ):
        try:
            yield address, scheduler
        finally:
            for process in (nanny, scheduler):
                process.send_signal(signal.SIGINT)


def test_a_scheduler_that_goes_away_is_an_error_and_the_folder_is_no_run(tmp_path):
    write_job(tmp_path / "job")
    with _scheduler() as (address, scheduler), cluster.cluster(address) as client:
        with pytest.raises(DebuggerError, match="scheduler is gone"):
            _convert(client, tmp_path / "job", tmp_path / "out", lambda progress: scheduler.kill())
    assert find_runs(tmp_path / "out") == []


def test_a_scheduler_that_is_restarted_is_an_error_and_the_folder_is_no_run(tmp_path):
    write_job(tmp_path / "job")
    with _scheduler() as (address, _), cluster.cluster(address) as client:
        with cluster.cluster(address) as other, pytest.raises(DebuggerError, match="was restarted"):
            _convert(client, tmp_path / "job", tmp_path / "out", lambda progress: other.restart())
    assert find_runs(tmp_path / "out") == []


def test_a_full_disk_is_named_in_one_sentence_and_the_folder_is_no_run(tmp_path):
    write_job(tmp_path / "job")
    out = tmp_path / "disk"
    around = with_disks("-ttmpfs -osize=40k", {out: "none"}, "-rm")
    run = subprocess.run(
        [*around, *_TBDBG, "index", str(tmp_path / "job"), "--to", str(out), "--workers", "2"],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1 and run.stderr.count("\n") == 1, run.stderr
    assert "cannot be written" in run.stderr and "is not a run" in run.stderr


@pytest.mark.parametrize("when", [0.0, 1.0])
def test_ctrl_c_is_answered_in_one_sentence_and_leaves_no_process(tmp_path, when):
    write_job(tmp_path / "job", hosts=1)
    (run,) = find_runs(tmp_path / "job")
    slow = run.file_sets[0].path(GRAPH_EXECUTION_TRACES)
    slow.unlink()
    # Whoever opens it waits.
    os.mkfifo(slow)
    command = [*_TBDBG, "index", str(tmp_path / "job"), "--to", str(tmp_path / "out"), "--workers", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as program:
        assert wait_until((tmp_path / "out").exists, 60)
        time.sleep(when)
        os.killpg(program.pid, signal.SIGINT)
        _, said = program.communicate(timeout=60)
    assert program.returncode == 130
    assert said == f"tbdbg: Stopped; {tmp_path / 'out'} is not a run.\n"
    assert find_runs(tmp_path / "out") == []


@pytest.mark.long
def test_a_dump_in_a_bucket_becomes_tables_in_a_bucket(tmp_path, monkeypatch):
    write_job(tmp_path / "job")
    with ExitStack() as stack, object_store("s3", tmp_path / "log") as address:
        use_store(monkeypatch, "s3", address)
        stack.enter_context(forgotten("s3"))
        bucket = new_bucket("s3")
        upload(tmp_path / "job", f"{bucket}/job")
        command = [*_TBDBG, "index", f"{bucket}/job", "--to", f"{bucket}/out", "--workers", "2", "--json"]
        run = subprocess.run(command, capture_output=True, text=True)
        assert run.returncode == 0 and run.stderr == "", run.stderr
        assert json.loads(run.stdout)["."]["folder"] == f"{bucket}/out"
        with cluster.cluster(workers=2) as client:
            _convert(client, location(f"{bucket}/job"), f"{bucket}/cut")
        expected = answers_of(tmp_path / "job")
        for folder in ("out", "cut"):
            actual = answers_of(location(f"{bucket}/{folder}"))
            assert actual["graph_executions"] == expected["graph_executions"]
            assert actual["executions"] == expected["executions"]
