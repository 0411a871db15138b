"""`events/locations.py`: recordings are read from S3 and Google Cloud Storage, emulated on this machine."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import fsspec
import pytest
from tensorboard.plugins import base_plugin
from werkzeug.test import Client

from tb_debugger_plugin.cli.main import main
from tb_debugger_plugin.events import locations
from tb_debugger_plugin.server.plugin import DebuggerPlugin
from tests.support.buckets import new_bucket, object_store, upload, use_store
from tests.support.events import PATIENCE_S, full_health, small_program


@pytest.fixture(scope="module", params=["s3", "gs"])
def store(request, tmp_path_factory) -> Iterator[tuple[str, str]]:
    """Scheme and address of a server."""
    with object_store(request.param, tmp_path_factory.mktemp("store") / "log") as address:
        yield request.param, address


@pytest.fixture
def bucket(store, monkeypatch) -> Iterator[str]:
    """The URL of an empty bucket."""
    use_store(monkeypatch, *store)
    locations._file_system.cache_clear()
    fsspec.filesystem(store[0]).clear_instance_cache()
    yield new_bucket(store[0])
    locations._file_system.cache_clear()
    fsspec.filesystem(store[0]).clear_instance_cache()


def test_a_recording_in_a_bucket_is_a_run_that_grows_as_its_objects_do(tmp_path, bucket):
    recording = small_program(tmp_path / "logs" / "a", steps=1)
    upload(tmp_path, bucket)
    plugin = DebuggerPlugin(base_plugin.TBContext(logdir=f"{bucket}/logs"))
    try:
        assert _ask(plugin, "/runs") == ["a"]
        assert _page(plugin, 4) == ["x", "Log", "mul", "Mean"]
        recording.trace("g1", "Log", full_health([1.0]))
        upload(tmp_path, bucket)
        assert _page(plugin, 5)[-1] == "Log"
    finally:
        plugin.close()
        recording.close()


def _ask(plugin, path, **query):
    response = Client(plugin.get_plugin_apps()[path]).get(f"/data/plugin/debugger{path}", query_string=query)
    assert response.status_code == 200, response.text
    return list(response.json) if path == "/runs" else response.json


def _page(plugin, count):
    deadline = time.monotonic() + PATIENCE_S
    while _ask(plugin, "/status", run="a")["num_graph_executions"] != count:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    page = _ask(plugin, "/graph_execution/data", run="a", begin=0, end=count)
    return [one["op_name"] for one in page["graph_executions"]]


def test_every_verb_that_reads_takes_the_url_of_a_bucket(tmp_path, bucket, tbdbg):
    small_program(tmp_path / "a").close()
    upload(tmp_path, bucket)

    def told(*arguments: str) -> str:
        return tbdbg(*arguments)

    assert json.loads(told("info", bucket, "--json"))["a"]["num_graph_executions"] == 8
    assert json.loads(told("index", bucket, "--json"))["a"]["executions"] == 4
    assert told("dump", f"{bucket}/a").count("graph_execution_trace:") == 8
    assert told("sql", bucket, "SELECT count(*) AS n FROM graph_executions WHERE health = 2") == "n\n6\n"
    assert json.loads(told("export", bucket, "--parquet", str(tmp_path / "out"), "--json"))["a"]["rows"]
    assert json.loads(told("clean", bucket, "--json"))["bytes"] > 0


def test_tables_in_a_bucket_are_a_run_too(tmp_path, bucket, tbdbg):
    small_program(tmp_path / "events", steps=3).close()
    assert main(["export", str(tmp_path / "events"), "--parquet", str(tmp_path / "tables")]) == 0
    upload(tmp_path / "tables", f"{bucket}/tables")
    assert tbdbg.json("sql", bucket, "SELECT count(*) AS n FROM graph_executions") == [{"n": 12}]


def test_a_bucket_that_is_not_there_is_said_not_to_be(bucket, tbdbg):
    assert f"{bucket}-of-nobody/logs does not exist." in tbdbg.error("info", f"{bucket}-of-nobody/logs")
