"""`capture/session_runs.py`: what runs of TF1-style sessions ask for, when they run, and their op times."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import native
from tests.support.recorded import Recorded, read

pytestmark = pytest.mark.tensorflow

v1 = tf.compat.v1
_PROFILED = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)


def requested(recorded: Recorded) -> list[tuple[list[tuple[str, str, list[int]]], list[str], list[str]]]:
    """Feeds, fetches and targets of each run."""
    requests = {request.number: request for request in recorded.records("session_request")}
    asked = [requests[run.request] for run in recorded.records("session_run")]
    return [
        (
            [(feed.name, tf.as_dtype(feed.dtype).name, list(feed.dims)) for feed in request.feeds],
            list(request.fetches),
            list(request.targets),
        )
        for request in asked
    ]


@pytest.mark.parametrize("sink", ["our sink", "TensorFlow's ops"])
def test_each_run_is_on_record_with_what_it_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sink: str
) -> None:
    if sink == "TensorFlow's ops":
        monkeypatch.setattr(native, "load", lambda: None)
    with tb_debugger_plugin.record(tmp_path), tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None], name="x")
        y = v1.placeholder(tf.int64, [], name="y")
        root, log = tf.sqrt(x, name="root"), tf.math.log(x, name="log")
        both = tf.add(root, tf.cast(y, tf.float32), name="both")
        with v1.Session() as session, v1.Session() as other:
            begin = time.time()
            for _ in range(2):
                session.run(root, {x: [1.0, 4.0]})
            session.run([log, both, log.op], {x: np.ones(3), y: 7})
            other.run(log.op, {x: [1.0]})
            end = time.time()
    recorded = read(tmp_path)
    runs = recorded.records("session_run")
    assert [(run.session, run.run) for run in runs] == [(1, 1), (1, 2), (1, 3), (2, 1)]
    first = ([("x:0", "float32", [2])], ["root:0"], [])
    assert requested(recorded) == [
        first,
        first,
        ([("x:0", "float32", [3]), ("y:0", "int64", [])], ["log:0", "both:0"], ["log"]),
        ([("x:0", "float32", [1])], [], ["log"]),
    ]
    assert len(recorded.records("session_request")) == 3  # equal ones are described once
    events = [each for every in recorded.events.values() for each in every if each.HasField("session_run")]
    times = [(event.session_run.begin_time, event.wall_time) for event in events]
    flat = [begin, *[moment for pair in times for moment in pair], end]
    assert flat == sorted(flat)
    # Functions of other tests are in the process; their constants are recorded at the beginning.
    traced = [
        event.wall_time
        for event in recorded.events["graph_execution_traces"]
        if event.graph_execution_trace.op_name in ("root", "log", "both")
    ]
    assert traced and all(any(a <= moment <= b for a, b in times) for moment in traced)


def test_a_request_has_the_line_that_asks_for_it(tmp_path: Path) -> None:
    def run_it(session: v1.Session) -> None:
        session.run(double, {x: 1.0})

    with tb_debugger_plugin.record(tmp_path), tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        double = tf.add(x, x, name="double")
        with v1.Session() as session:
            for _ in range(3):
                run_it(session)
            run_it(session)
    recorded = read(tmp_path)
    stacks = [request.code_location.stack_frame_ids for request in recorded.records("session_request")]
    lines = [
        [line for _, line, _, code in frames if code.startswith(("run_it", "session.run"))]
        for frames in (map(recorded.frames.__getitem__, stack) for stack in stacks)
    ]
    first = run_it.__code__.co_firstlineno
    assert lines == [[first + 8, first + 1], [first + 9, first + 1]]
    assert [run.request for run in recorded.records("session_run")] == [1, 1, 1, 2]


def test_a_run_that_fails_is_on_record_with_its_error_and_the_program_gets_it(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path), tf.Graph().as_default():
        x = v1.placeholder(tf.float32, None, name="x")
        product = tf.matmul(x, x)
        with v1.Session() as session:
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(product, {x: np.ones([2, 3])})
            session.run(product, {x: np.ones([2, 2])})
    failed, good = read(tmp_path).records("session_run")
    assert failed.error.startswith("InvalidArgumentError: ") and len(failed.error) <= 1000
    assert good.error == ""


def test_runs_of_monitored_sessions_callables_and_earlier_sessions_are_on_record(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        double = tf.add(x, x, name="double")
        with v1.Session() as earlier, tb_debugger_plugin.record(tmp_path):
            earlier.run(double, {x: 1.0})
            with v1.Session() as session:
                session.make_callable(double, [x])(2.0)
            with v1.train.MonitoredSession() as monitored:
                for _ in range(3):
                    monitored.run(double, {x: 3.0})
    asked = requested(read(tmp_path))
    assert [fetches for _, fetches, _ in asked].count(["double:0"]) == 5


def test_the_thread_of_each_run_is_on_record(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path), tf.Graph().as_default():
        one = tf.constant(1.0, name="one")
        with v1.Session() as session:
            session.run(one)
            thread = threading.Thread(target=session.run, args=(one,), name="feeder")
            thread.start()
            thread.join()
    recorded = read(tmp_path)
    names = {thread.thread_id: thread.thread_name for thread in recorded.records("debugged_thread")}
    assert [names[run.thread_id] for run in recorded.records("session_run")] == [
        threading.current_thread().name,
        "feeder",
    ]


def test_a_circular_buffer_keeps_the_last_runs(tmp_path: Path) -> None:
    recording = tb_debugger_plugin.enable_dump_debug_info(str(tmp_path), "NO_TENSOR", circular_buffer_size=5)
    with tf.Graph().as_default():
        one = tf.constant(1.0)
        with v1.Session() as session:
            for _ in range(12):
                session.run(one)
            live = [run.run for run in read(tmp_path).records("session_run")]
            for _ in range(3):
                session.run(one)
    assert recording.on
    tb_debugger_plugin.disable_dump_debug_info()
    assert live == [8, 9, 10, 11, 12]
    assert [run.run for run in read(tmp_path).records("session_run")] == [11, 12, 13, 14, 15]


def test_runs_of_steps_that_are_not_recorded_only_count(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path, every_n_steps=2), tf.Graph().as_default():
        one = tf.constant(1.0)
        with v1.Session() as session:
            for _ in range(5):
                session.run(one)
                tb_debugger_plugin.step()
    assert [run.run for run in read(tmp_path).records("session_run")] == [1, 3, 5]


def test_the_op_times_of_a_profiled_run_are_those_that_tensorflow_gives_the_program(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path), tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None], name="x")
        log = tf.math.log(x, name="log")
        metadata = v1.RunMetadata()
        with v1.Session() as session:
            session.run(log, {x: [1.0]})
            session.run(log, {x: [1.0]}, run_metadata=v1.RunMetadata())  # not profiled
            session.run(log, {x: [1.0]}, options=_PROFILED, run_metadata=metadata)
    expected = {
        (device.device, node.node_name): (
            node.all_start_micros,
            node.op_start_rel_micros,
            node.op_end_rel_micros - node.op_start_rel_micros,
            node.all_end_rel_micros,
        )
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
    }
    actual = {}
    for times in read(tmp_path).records("op_times"):
        assert (times.session, times.run) == (1, 3)
        rows = zip(times.start_micros, times.op_start_micros, times.op_micros, times.all_micros, strict=True)
        actual.update(
            ((times.device_name, name), row) for name, row in zip(times.op_names, rows, strict=True)
        )
    assert any(name == "log" for _, name in actual)
    ours = set(expected) - set(actual)
    assert actual.items() <= expected.items()
    assert ours and all(name.startswith("TbDebuggerWatch/") for _, name in ours)


def test_ops_added_between_runs_are_recorded_by_the_next_run(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path), tf.Graph().as_default():
        one = tf.constant(1.0, name="one")
        with v1.Session() as session:
            session.run(one)
            session.run(tf.negative(one, name="later"))
            session.run(tf.exp(one, name="latest"))
    recorded = read(tmp_path)
    assert len(recorded.of("later")) == len(recorded.of("latest")) == 1


def test_sessions_that_the_program_drops_are_not_kept(tmp_path: Path) -> None:
    import gc
    import weakref

    with tb_debugger_plugin.record(tmp_path), tf.Graph().as_default():
        one = tf.constant(1.0)
        session = v1.Session()
        session.run(one)
        dropped = weakref.ref(session)
        session.close()
        del session
        gc.collect()
        assert dropped() is None
