"""`events/locations.py`: recordings are read from S3 and Google Cloud Storage, emulated on this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tb_debugger_plugin.cli.main import main
from tests.support.asking import Asker
from tests.support.buckets import forgotten, new_bucket, object_store, upload, use_store
from tests.support.events import PATIENCE_S, full_health, small_program
from tests.support.processes import wait_until


@pytest.fixture(scope="module", params=["s3", pytest.param("gs", marks=pytest.mark.long)])
def store(request, tmp_path_factory) -> Iterator[tuple[str, str]]:
    """Scheme and address of a server."""
    with object_store(request.param, tmp_path_factory.mktemp("store") / "log") as address:
        yield request.param, address


@pytest.fixture
def bucket(store, monkeypatch) -> Iterator[str]:
    """The URL of an empty bucket."""
    use_store(monkeypatch, *store)
    with forgotten(store[0]):
        yield new_bucket(store[0])


def test_a_recording_in_a_bucket_is_a_run_that_grows_as_its_objects_do(tmp_path, bucket):
    recording = small_program(tmp_path / "logs" / "a", steps=1)
    upload(tmp_path, bucket)
    with recording, Asker(f"{bucket}/logs") as asker:
        assert list(asker.json("/runs")) == ["a"]
        assert _page(asker, 4) == ["x", "Log", "mul", "Mean"]
        recording.trace("g1", "Log", full_health([1.0]))
        upload(tmp_path, bucket)
        assert _page(asker, 5)[-1] == "Log"


def _page(asker, count):
    def is_read() -> bool:
        return asker.json("/status", run="a")["num_graph_executions"] == count

    assert wait_until(is_read, PATIENCE_S)
    page = asker.json("/graph_execution/data", run="a", begin=0, end=count)
    return [one["op_name"] for one in page["graph_executions"]]


def test_every_verb_that_reads_takes_the_url_of_a_bucket(tmp_path, bucket, tbdbg):
    small_program(tmp_path / "a").close()
    upload(tmp_path, bucket)
    assert tbdbg.json("info", bucket)["a"]["num_graph_executions"] == 8
    assert tbdbg.json("index", bucket)["a"]["executions"] == 4
    assert tbdbg("dump", f"{bucket}/a").count("graph_execution_trace:") == 8
    assert tbdbg("sql", bucket, "SELECT count(*) AS n FROM graph_executions WHERE health = 2") == "n\n6\n"
    assert tbdbg.json("export", bucket, "--parquet", tmp_path / "out")["a"]["rows"]
    assert tbdbg.json("clean", bucket)["bytes"] > 0


def test_tables_in_a_bucket_are_a_run_too(tmp_path, bucket, tbdbg):
    small_program(tmp_path / "events", steps=3).close()
    assert main(["export", str(tmp_path / "events"), "--parquet", str(tmp_path / "tables")]) == 0
    upload(tmp_path / "tables", f"{bucket}/tables")
    assert tbdbg.json("sql", bucket, "SELECT count(*) AS n FROM graph_executions") == [{"n": 12}]


def test_a_bucket_that_is_not_there_is_said_not_to_be(bucket, tbdbg):
    assert f"{bucket}-of-nobody/logs does not exist." in tbdbg.error("info", f"{bucket}-of-nobody/logs")
