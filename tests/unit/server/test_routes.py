"""`server/routes.py`: every route over HTTP, with right and wrong requests of TensorBoard's clients.

`tests/unit/docs/test_http_examples.py` compares whole answers of each route.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.server.routes import POSTS, ROUTES
from tests.support.asking import Asker
from tests.support.checkout import ROOT
from tests.support.events import Recording, full_health, small_program, vector

_RUN = {"run": "a/b"}
_OF_NO_RUN = {"/runs", "/logdir", "/live/programs", "/live/tensors", "/live/paused"}


@pytest.fixture(scope="module")
def page_of_numerics(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    logdir = tmp_path_factory.mktemp("numerics")
    recording = small_program(logdir / "a" / "b", steps=0, mode=TensorDebugMode.FULL_NUMERICS)
    health = [12, -1, 1, 1, 2, 0, 0, 0, 1, 0, 1]
    recording.trace("g1", "mul", vector([*health, -3.0, 2.0, 0.5, 4.0]))
    recording.trace("g1", "mul", vector([*health, -3.5, 2.5, 0.25, 4.5]))
    recording.execution("Mul", [vector([*health, -1e300, 1e300, 0.0, math.inf])], ids=[1])
    recording.close()
    with Asker(logdir) as asker:
        yield asker


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    logdir = tmp_path_factory.mktemp("logdir")
    small_program(logdir / "a" / "b").close()
    with Asker(logdir) as asker:
        yield asker


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Asker]:
    with Asker(tmp_path / "absent") as asker:
        yield asker


def test_no_runs_are_an_empty_object_and_a_tab_that_waits(empty):
    assert empty.json("/runs") == {}
    assert empty.plugin.is_active() is True


def test_the_tab_is_active_and_named(page):
    assert page.plugin.is_active() is True
    metadata = page.plugin.frontend_metadata()
    assert (metadata.tab_name, metadata.es_module_path) == ("Debugger", "/index.js")
    assert page.plugin.plugin_name == "debugger"


def test_alerts_begin_0_end_0_is_an_empty_page_with_the_counts(page):
    assert page.json("/alerts", **_RUN, end=50)["end"] == page.json("/alerts", **_RUN)["num_alerts"] < 50
    assert page.json("/alerts/found", **_RUN, end=50)["end"] < 50
    assert page.get("/execution/digests", **_RUN, end=50).status_code == 400
    answer = page.json("/alerts", **_RUN, begin=0, end=0, alert_type="InfNanAlert")
    assert (answer["alerts"], answer["num_alerts"], answer["alert_type"]) == ([], 8, "InfNanAlert")


@pytest.mark.parametrize("kind", ["execution", "graph_execution"])
def test_begin_0_end_0_is_an_empty_page_of_data(page, kind):
    assert page.json(f"/{kind}/data", **_RUN, begin=0, end=0)[f"{kind}s"] == []


def test_the_numbers_of_full_numerics_have_names(page_of_numerics):
    page = page_of_numerics
    _, columns = page.columns("/columns/graph_executions", **_RUN)
    named = {name: columns[name].tolist() for name in ("min", "max", "mean", "variance")}
    assert named == {"min": [-3.0, -3.5], "max": [2.0, 2.5], "mean": [0.5, 0.25], "variance": [4.0, 4.5]}
    _, columns = page.columns("/columns/graph_executions", **_RUN, where="max>2.1,mean<0.5")
    assert columns["index"].tolist() == [1]
    (output,) = page.json("/graphs/op_info", **_RUN, graph_id="g1", op_name="mul", at=0)["outputs"]
    assert [output["health"][name] for name in named] == [-3.0, 2.0, 0.5, 4.0]
    (execution,) = page.json("/execution/data", **_RUN, begin=0, end=1)["executions"]
    measured = execution["outputs"][0]
    assert measured["variance"] is None and measured["max"] == 1e300


def test_graph_info(page):
    assert page.json("/graphs/graph_info", **_RUN, graph_id="g0") == {
        "name": None,
        "graph_id": "g0",
        "outer_graph_id": None,
        "inner_graph_ids": ["g1"],
        "inner_graph_names": ["loss"],
    }


def test_status(page):
    answer = page.json("/status", **_RUN)
    assert (answer["num_executions"], answer["num_graph_executions"], answer["num_alerts"]) == (4, 8, 8)
    assert answer["generation"] >= 1 and answer["notices"] == []


def test_status_names_a_damaged_file_and_the_place(tmp_path):
    with small_program(tmp_path) as recording:
        path = recording.files.path("graph_execution_traces")
    path.write_bytes(path.read_bytes() + b"damaged, and more than a header long")
    with Asker(tmp_path) as asker:
        (notice,) = asker.json("/status", run=".")["notices"]
    assert notice["file"] == path.name and notice["severity"] == "warning"
    assert notice["offset"] == path.stat().st_size - 36


def test_columns_of_graph_executions(page):
    header, columns = page.columns("/columns/graph_executions", **_RUN, begin=1, end=3)
    assert columns["index"].tolist() == [1, 2] and header["total"] == 8
    assert set(columns) == {
        *("index", "wall_time", "op_name", "op_type", "graph_id", "function", "device", "slot", "mode"),
        *("health", "dtype", "rank", "shape", "size", "neg_inf", "zero", "pos_inf", "nan", "negative"),
        *("positive", "owner", "host", "layer", "gradient_of", "step"),
    }
    header, columns = page.columns("/columns/graph_executions", **_RUN, only="bad", end=4)
    assert columns["index"].tolist() == [1, 2, 3, 5] and header["total"] == 6


_RANGED = (
    *("/alerts", "/execution/digests", "/execution/data", "/graph_execution/digests"),
    *("/graph_execution/data", "/columns/executions", "/columns/graph_executions"),
)


@pytest.mark.parametrize("path", _RANGED)
@pytest.mark.parametrize(
    "query",
    [
        {"begin": "x"},
        {"begin": "1.5"},
        {"begin": ""},
        {"end": "0x2"},
        {"begin": -1},
        {"end": -2},
        {"begin": 99},
        {"begin": 2, "end": 1},
        {"begin": 10**30},
        {"end": "٣"},
    ],
)
def test_a_bad_range_is_a_bad_request(page, path, query):
    status, sentence = page.refusal(path, **_RUN, **query)
    assert status == 400 and any(name in sentence for name in query)


@pytest.mark.parametrize("path", [path for path in _RANGED if path != "/alerts"])
def test_an_end_after_that_of_the_list_is_a_bad_request_but_of_alerts(page, path):
    status, sentence = page.refusal(path, **_RUN, end=99)
    assert status == 400 and "end is 99, but the list has only" in sentence


def test_filters_and_an_order_over_http(page):
    header, columns = page.columns("/columns/graph_executions", **_RUN, op_name="^(Log|mul)$", where="nan>0")
    assert (header["total"], header["matching"], columns["index"].tolist()) == (2, 2, [2.0, 6.0])
    header, columns = page.columns(
        "/columns/graph_executions",
        **_RUN,
        sort="neg_inf",
        descending="true",
        begin=0,
        end=2,
        source=0,
        line=3,
    )
    assert (header["total"], columns["index"].tolist()) == (8, [1.0, 5.0])
    header, columns = page.columns("/columns/graph_executions", **_RUN, from_execution=2, until_execution=4)
    assert (header["matching"], columns["index"].tolist()) == (4, [4.0, 5.0, 6.0, 7.0])
    header, columns = page.columns("/columns/executions", **_RUN, health="bad")
    assert (header["matching"], columns["index"].tolist()) == (2, [1.0, 3.0])
    assert "matching" not in page.columns("/columns/executions", **_RUN)[0]


@pytest.mark.parametrize(
    "query",
    [
        {"op_name": "("},
        {"where": "nan"},
        {"where": "idx>0"},
        {"sort": "idx"},
        {"descending": "true"},
        {"descending": "yes", "sort": "nan"},
        {"since": "nan"},
        {"since": "now"},
        {"since": "1" * 400},
        {"health": "sick"},
        {"only": "bad", "health": "good"},
        {"dtype": "float31"},
        {"line": 3},
        {"from_execution": -1},
        {"source": "x"},
        {"op_name": "Log", "begin": 3, "end": 99},
    ],
)
def test_filters_that_make_no_sense_are_bad_requests(page, query):
    code, sentence = page.refusal("/columns/graph_executions", **_RUN, **query)
    assert code == 400 and sentence.endswith(".")


@pytest.mark.parametrize("path", sorted(set(ROUTES) - _OF_NO_RUN))
def test_a_run_is_needed_and_must_exist(page, path):
    assert page.refusal(path) == (400, "The parameter run is missing.")
    assert page.refusal(path, run="") == (400, "The parameter run is missing.")
    assert page.refusal(path, run="<b>no</b>")[0] == 404
    assert page.refusal(path, run="x" * 20_000)[0] == 400


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("/alerts", {"alert_type": "Foo"}, 400),
        ("/graphs/graph_info", {}, 400),
        ("/graphs/graph_info", {"graph_id": "nope"}, 404),
        ("/graphs/op_info", {"op_name": "Log"}, 400),
        ("/graphs/op_info", {"graph_id": "g1"}, 400),
        ("/graphs/op_info", {"graph_id": "nope", "op_name": "Log"}, 404),
        ("/graphs/op_info", {"graph_id": "g1", "op_name": "nope"}, 404),
        ("/graphs/op_info", {"graph_id": "g1", "op_name": "Log", "at": "x"}, 400),
        ("/graphs/op_info", {"graph_id": "g1", "op_name": "Log", "at": -1}, 400),
        ("/graphs/op_info", {"graph_id": "g1", "op_name": "Log", "at": 8}, 400),
        ("/source_files/file", {}, 400),
        ("/source_files/file", {"index": "one"}, 400),
        ("/source_files/file", {"index": -1}, 400),
        ("/source_files/file", {"index": 999}, 404),
        ("/stack_frames/stack_frames", {}, 400),
        ("/stack_frames/stack_frames", {"stack_frame_ids": ""}, 400),
        ("/stack_frames/stack_frames", {"stack_frame_ids": "f1,zzz"}, 404),
        ("/stack_frames/stack_frames", {"stack_frame_ids": "f1," * 10_001}, 400),
        ("/columns/graph_executions", {"only": "good"}, 400),
        ("/overview", {"buckets": 5}, 400),
        ("/overview", {"list": "sources", "buckets": 5}, 400),
        ("/overview", {"list": "executions"}, 400),
        ("/overview", {"list": "executions", "buckets": 0}, 400),
        ("/overview", {"list": "executions", "buckets": 4097}, 400),
        ("/overview", {"list": "executions", "buckets": "many"}, 400),
        ("/locate", {}, 400),
        ("/locate", {"execution": 0, "graph_execution": 0}, 400),
        ("/locate", {"execution": "x"}, 400),
        ("/locate", {"execution": -1}, 400),
        ("/locate", {"execution": 4}, 400),
        ("/locate", {"graph_execution": 8}, 400),
        ("/neighbours", {"graph_id": "g1", "op_name": "mul", "hops": 99}, 400),
        ("/neighbours", {"graph_id": "g1", "op_name": "nobody"}, 404),
        ("/curve", {"tensor": "#x"}, 400),
        ("/curve", {"tensor": "nobody"}, 404),
        ("/find", {}, 400),
        ("/inputs_of", {}, 400),
        ("/inputs_of", {"graph_execution": -1}, 400),
        ("/inputs_of", {"graph_execution": 8}, 400),
        ("/inputs_of", {"graph_execution": "x"}, 400),
    ],
)
def test_a_bad_parameter_is_answered_with_a_sentence(page, path, query, status):
    code, sentence = page.refusal(path, **_RUN, **query)
    assert code == status and sentence.endswith(".")


@pytest.fixture(scope="module")
def long_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    """A run of 10 001 bad tensors, which is one more than a page holds."""
    folder = tmp_path_factory.mktemp("long")
    recording = Recording(folder)
    event = recording.trace_event("g", "x", full_health([math.nan]))
    recording.writer.write("graph_execution_traces", *[event] * 10_001)
    with Asker(recording.close()) as asker:
        yield asker


def test_a_page_that_is_too_long_is_refused_with_the_limit(long_page):
    for path in ("/alerts", "/graph_execution/data"):
        status, sentence = long_page.refusal(path, run=".", end=10_001)
        assert status == 400 and "10000" in sentence
    assert long_page.json("/graph_execution/digests", run=".", end=10_001)["end"] == 10_001
    assert long_page.columns("/columns/graph_executions", run=".")[0]["end"] == 10_001


def test_the_whole_list_is_given_as_far_as_a_page_goes(long_page):
    # What Debugger V2's page asks first.
    answer = long_page.json("/alerts", run=".", begin=0, end=-1)
    assert (answer["begin"], answer["end"], answer["num_alerts"]) == (0, 10_000, 10_001)
    assert len(answer["alerts"]) == 10_000
    rest = long_page.json("/alerts", run=".", begin=answer["end"], end=-1)
    assert (rest["begin"], rest["end"], len(rest["alerts"])) == (10_000, 10_001, 1)
    assert (
        len(long_page.json("/graph_execution/data", run=".", begin=0, end=-1)["graph_executions"]) == 10_000
    )
    digests = long_page.json("/graph_execution/digests", run=".", begin=0, end=-1)
    assert len(digests["graph_execution_digests"]) == digests["end"] == digests["num_digests"] == 10_001


@pytest.mark.parametrize("path", [*ROUTES, "/index.js", "/nope"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_other_methods_than_get_are_not_allowed(page, path, method):
    response = page.get(path, method=method)
    assert response.status_code == 405 and response.headers["Allow"] == "GET, HEAD"


def test_head_has_the_headers_of_get_and_no_body(page):
    get, head = page.get("/runs"), page.get("/runs", method="HEAD")
    assert head.status_code == 200 and head.data == b""
    assert head.headers["Content-Length"] == str(len(get.data))


def test_every_answer_forbids_guessing_its_type(page):
    for path in ("/runs", "/alerts", "/index.js", "/nope"):
        assert page.get(path).headers["X-Content-Type-Options"] == "nosniff"


def test_answers_are_not_kept_by_browsers(page):
    assert "no-cache" in page.get("/runs").headers["Cache-Control"]


def test_a_failure_of_ours_is_a_sentence_without_a_traceback(page, monkeypatch, caplog):
    monkeypatch.setattr("tb_debugger_plugin.analysis.source.sources.source_list", lambda view: 1 / 0)
    status, sentence = page.refusal("/source_files/list", **_RUN)
    assert status == 500 and "Zero" not in sentence
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
def test_what_changes_a_program_is_only_posted(page, path, method):
    response = page.get(path, method=method)
    assert response.status_code == 405 and response.headers["Allow"] == "POST"


def test_every_route_is_documented():
    text = (ROOT / "docs" / "http-api.md").read_text("utf-8")
    assert not [path for path in (*ROUTES, *POSTS) if f"| `{path[1:]}` |" not in text]
