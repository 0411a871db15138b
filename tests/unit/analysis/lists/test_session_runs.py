"""`analysis/lists/session_runs.py`: runs of sessions in the answers of the route and in the tables."""

from __future__ import annotations

import numpy as np
import pytest

from tb_debugger_plugin.analysis.lists import session_runs
from tb_debugger_plugin.analysis.snapshot import Json, Range, Snapshot, open_snapshot
from tb_debugger_plugin.events.fileset import SESSION_RUNS
from tb_debugger_plugin.events.tail import TailMode
from tb_debugger_plugin.pipeline.layout import lay_out
from tests.support.asking import Asker
from tests.support.dumps import DumpedCall, node
from tests.support.events import Recording, loaded, small_program, snapshot_of
from tests.support.tails import build_tail

_RUNS = "SELECT run, in_ring FROM session_runs ORDER BY end_time, run"


def _data(snapshot: Snapshot, page: Range) -> Json:
    """The page as JSON."""
    found = session_runs.data(snapshot, page)
    return {name: [one.to_json() for one in found[name]] for name in ("session_runs", "requests")}


def _rows(folder, query):
    with snapshot_of(folder) as snapshot:
        return snapshot.rows(query)


def _program(folder, **options):
    recording = Recording(folder, **options)
    recording.thread(1, "MainThread")
    recording.thread(2, "feeder")
    recording.request(1, feeds=[("x:0", 1, [2, 3])], fetches=["log:0"], stack=["f1", "f0"])
    recording.request(2, targets=["train"])
    return recording


def test_runs_come_in_the_order_in_which_they_ended_and_share_requests(tmp_path):
    recording = _program(tmp_path)
    recording.session_run(1, 1, thread=1)
    recording.session_run(1, 2, session=2, thread=2, error="InvalidArgumentError: no")
    recording.session_run(2, 1, thread=7)
    recording.session_run(3, 9)
    with snapshot_of(recording.close()) as snapshot:
        assert session_runs.num_session_runs(snapshot) == 4
        answer = _data(snapshot, Range(0, 4))
        second = _data(snapshot, Range(1, 2))
    facts = [
        (run["session"], run["run"], run["request"], run["thread_name"]) for run in answer["session_runs"]
    ]
    assert facts == [(1, 1, 0, "MainThread"), (2, 1, 1, "feeder"), (1, 2, 0, None), (1, 3, None, None)]
    assert [run["error"] for run in answer["session_runs"]] == [None, "InvalidArgumentError: no", None, None]
    assert answer["requests"] == [
        {
            "feeds": [{"name": "x:0", "dtype": "float32", "shape": [2, 3]}],
            "fetches": ["log:0"],
            "targets": [],
            "stack_frame_ids": ["f1", "f0"],
        },
        {"feeds": [], "fetches": [], "targets": ["train"], "stack_frame_ids": []},
    ]
    assert second["requests"] == answer["requests"][1:]
    assert second["session_runs"] == [{**answer["session_runs"][1], "request": 0}]


def test_the_requests_of_two_hosts_are_not_mixed_up(tmp_path):
    for host, name in (("a", "x:0"), ("b", "y:0")):
        recording = Recording(tmp_path, host=host)
        recording.request(1, fetches=[name])
        recording.session_run(1, 1)
        recording.close()
    with snapshot_of(tmp_path) as snapshot:
        answer = _data(snapshot, Range(0, 2))
    by_host = {run["host_name"]: answer["requests"][run["request"]] for run in answer["session_runs"]}
    assert {host: request["fetches"] for host, request in by_host.items()} == {"a": ["x:0"], "b": ["y:0"]}


def test_the_route_refuses_positions_that_are_not_in_the_list(tmp_path):
    recording = _program(tmp_path / "run")
    recording.session_run(1, 1)
    recording.close()
    with Asker(tmp_path) as asker:
        assert asker.json("/session_runs", run="run", begin=1)["session_runs"] == []
        assert asker.refusal("/session_runs", run="run", end=2)[0] == 400


def test_a_recording_without_sessions_has_no_runs_and_misses_no_file(tmp_path):
    small_program(tmp_path / "run").close()
    with Asker(tmp_path) as asker:
        answer = asker.json("/session_runs", run="run")
        status = asker.json("/status", run="run")
    assert answer == {"begin": 0, "end": 0, "num_session_runs": 0, "session_runs": [], "requests": []}
    assert status["not_recorded"] == []


def _ring(recording, events, tail=0):
    path = recording.files.tail_path(SESSION_RUNS)
    payloads = [event.SerializeToString() for event in events]
    path.write_bytes(build_tail(payloads, mode=TailMode.RING, file_size=0, tail=tail))


def test_the_ring_of_a_circular_buffer_shows_the_runs_that_it_holds_now(tmp_path):
    recording = _program(tmp_path, circular_buffer_size=2)
    graph = recording.event()
    graph.op_attributes.number = 1
    graph.op_attributes.attributes.add(name="damage")
    first, second, third = (recording.session_run_event(run, 1) for run in (1, 2, 3))
    recording.writer.close()
    recording.files.path(SESSION_RUNS).touch()
    _ring(recording, [first, second, graph])
    loader = loaded(tmp_path)
    try:
        with open_snapshot(loader) as snapshot:
            assert snapshot.rows(_RUNS) == [(1, True), (2, True)]
            assert snapshot.rows("SELECT * FROM op_attributes") == []
        loader.close()
        _ring(recording, [second, third], tail=100)
        assert _rows(tmp_path, _RUNS) == [(2, True), (3, True)]
    finally:
        loader.close()


def test_the_pipeline_reads_runs_from_files_and_from_rings(tmp_path):
    recording = _program(tmp_path, circular_buffer_size=2)
    recording.session_run(1, 1)
    later = recording.session_run_event(2, 1)
    recording.writer.close()
    path = recording.files.path(SESSION_RUNS)
    tail = build_tail([later.SerializeToString()], mode=TailMode.RING, file_size=path.stat().st_size)
    recording.files.tail_path(SESSION_RUNS).write_bytes(tail)
    assert _rows(tmp_path, _RUNS) == [(1, False), (2, True)]
    loader = loaded(tmp_path)
    loader.close()
    _, described = lay_out(loader.run, [])
    rows = described.describer.rows["session_runs"]
    assert [(row.run, row.in_ring) for row in rows] == [(1, False), (2, True)]


def test_op_times_become_rows_also_when_a_list_is_too_short(tmp_path):
    recording = _program(tmp_path)
    recording.op_times(1, "CPU", [("a", 5, 1, 2, 3), ("b", 6, 1, 2, 3)])
    damaged = recording.event()
    damaged.op_times.op_names.extend(["c", "d"])
    damaged.op_times.start_micros.append(7)
    recording.writer.write(SESSION_RUNS, damaged)
    rows = _rows(
        recording.close(), "SELECT run, device, op_name, start, op_start, op_time, all_time FROM op_times"
    )
    assert rows == [(1, "CPU", "a", 5, 1, 2, 3), (1, "CPU", "b", 6, 1, 2, 3)]


@pytest.mark.parametrize("time", [float("nan"), float("inf")])
def test_a_time_that_is_not_finite_counts_as_0(tmp_path, time):
    recording = _program(tmp_path)
    event = recording.session_run_event(1, 1)
    event.session_run.begin_time = time
    recording.writer.write(SESSION_RUNS, event)
    assert _rows(recording.close(), "SELECT begin_time FROM session_runs") == [(0.0,)]


def test_each_call_of_a_session_root_is_a_run(tmp_path):
    for number, (begin, end) in enumerate([(1_000_000, 1_500_000), (2_000_000, 2_250_000)]):
        call = DumpedCall(tmp_path / f"run_{begin}_{number}", session_run=number + 1)
        call.graph({"a": node("Const"), "b": node("Log", "a")})
        call.dump("b", np.float32([1, np.nan]), time=end)
    DumpedCall(tmp_path / "run_3000000_2", session_run=3)  # it failed early
    with snapshot_of(tmp_path) as snapshot:
        assert session_runs.num_session_runs(snapshot) == 3
        answer = _data(snapshot, Range(0, 3))
        second = _data(snapshot, Range(1, 2))
    runs = answer["session_runs"]
    assert [(run["session"], run["run"], run["request"]) for run in runs] == [(1, 1, 0), (1, 2, 0), (1, 3, 0)]
    assert [(run["begin_time"], run["end_time"]) for run in runs] == [(1.0, 1.5), (2.0, 2.25), (3.0, 3.0)]
    (request,) = answer["requests"]
    assert (request["fetches"], request["targets"]) == (["y:0"], [])
    assert [feed["name"] for feed in request["feeds"]] == ["x:0"]
    assert second["session_runs"] == [runs[1]]
