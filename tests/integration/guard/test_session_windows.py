"""`capture/engines/guard/session_windows.py`: what variables of a session were before a bad run."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2

import tb_debugger_plugin
from tb_debugger_plugin.capture.engines.guard import session_windows
from tests.support.recorded import read

v1 = tf.compat.v1
pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
#: Makes ops of a graph, of which each run requests the first; each run feeds `x`.
Program = Callable[[v1.Tensor], "list[v1.Tensor]"]


@pytest.fixture(autouse=True, params=[3, 128], ids=["short windows", "long windows"])
def windows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_windows, "_RUNS", request.param)
    if request.param > 3:  # which are searched part by part
        monkeypatch.setattr(session_windows, "_FEW", 2)
        monkeypatch.setattr(session_windows, "_PARTS", 2)
    monkeypatch.setattr(session_windows, "_PART_OF_TIME", 1e9)


def runs(folder: Path | None, program: Program, given: list[float], mode: str = "GUARD") -> list[np.ndarray]:
    """What each run returns. All are fed the same array, which the program changes between runs."""
    recording = tb_debugger_plugin.record(folder, mode=mode) if folder else nullcontext()
    with recording, v1.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(1)
        x = v1.placeholder(tf.float32, [1], "x")
        fetches = program(x)
        session.run(v1.global_variables_initializer())
        fed, results = np.zeros(1, np.float32), []
        for value in given:
            fed[0] = value
            results.append(session.run(fetches, {x: fed}))
            fed[0] = 7.0
        return results


def a_sum(x: v1.Tensor) -> list[v1.Tensor]:
    """Adds a logarithm to a variable; what it returns is finite."""
    total = v1.get_variable("total", [1], initializer=v1.ones_initializer())
    noise = v1.random_uniform([1], name="noise")
    with tf.control_dependencies([total.assign_add(tf.math.log(x, name="log") + noise)]):
        return [tf.nn.sigmoid(x)]


def momentum(x: v1.Tensor) -> list[v1.Tensor]:
    """Trains with momentum and dropout; the loss is bad in the bad run."""
    weight = v1.get_variable("weight", [1, 4], initializer=v1.ones_initializer())
    hidden = v1.nn.dropout(x[None] @ weight, rate=0.3)
    loss = tf.reduce_mean(tf.math.log(hidden + x, name="log"))
    return [loss, v1.train.MomentumOptimizer(0.01, 0.9).minimize(loss)]


def rows(x: v1.Tensor) -> list[v1.Tensor]:
    """Trains rows of a table with Adam; what it returns is finite."""
    table = v1.get_variable("table", [50, 4], initializer=v1.ones_initializer())
    ids = v1.random_uniform([3], maxval=50, dtype=tf.int64, name="ids")
    loss = tf.reduce_sum(tf.math.log(x, name="log") * tf.gather(table, ids, name="rows"))
    with tf.control_dependencies([v1.train.AdamOptimizer(0.1).minimize(loss)]):
        return [tf.nn.sigmoid(x)]


def overwritten(x: v1.Tensor) -> list[v1.Tensor]:
    """Reads a variable and gives it another value, which takes nothing of the first."""
    last = v1.get_variable("last", [1], initializer=v1.ones_initializer())
    result = tf.math.log(x * last.read_value(), name="log")
    with tf.control_dependencies([result]):
        return [result, last.assign(x + 1.0)]


@pytest.mark.parametrize(
    ("program", "is_resource", "tolerance"),
    [
        *((program, kind, 0.0) for program in (a_sum, momentum, overwritten) for kind in (True, False)),
        (rows, True, 1e-6),  # without the recorder a square root is fused, so FULL_NUMERICS has other bits
    ],
)
def test_the_replay_computes_what_the_bad_run_computed(
    tmp_path: Path, program: Program, is_resource: bool, tolerance: float
) -> None:
    given = [1.0, 2.0, 3.0, 1.0, 2.0, 0.0, 1.0, 2.0, 1.0]
    bad = given.index(0.0)

    def made(x: v1.Tensor) -> list[v1.Tensor]:
        with v1.variable_scope("net", use_resource=is_resource):
            return program(x)

    plain = runs(None, made, given)
    recorded, guarded = tmp_path / "recorded", tmp_path / "guarded"
    assert [np.asarray(one[0]).tobytes() for one in runs(recorded, made, given, "FULL_NUMERICS")] == [
        np.asarray(one[0]).tobytes() for one in plain
    ]
    assert [np.asarray(one[0]).tobytes() for one in runs(guarded, made, given)] == [
        np.asarray(one[0]).tobytes() for one in plain
    ]
    expected, replayed = read(recorded), read(guarded)
    names = {trace.op_name for trace in replayed.traces}
    assert "log" in "".join(names).lower()
    for name in names:
        (trace,) = replayed.traces_of(name)
        of_each_run = expected.traces_of(name)
        if len(of_each_run) == len(given):  # not those of the initializer
            np.testing.assert_allclose(
                trace.without_id, of_each_run[bad].without_id, rtol=tolerance, err_msg=name
            )
    (run,) = replayed.records("session_run")
    assert run.run == expected.records("session_run")[bad + 1].run  # after the initializer
    origin = tb_debugger_plugin.open_run(str(guarded)).origins()[0]
    assert origin.op_name.lower().endswith("log")


@pytest.mark.parametrize("more", [[], [1.0]])
def test_what_a_failed_run_changed_counts(tmp_path: Path, more: list[float]) -> None:
    def program(x: v1.Tensor) -> list[v1.Tensor]:
        total = v1.get_variable("total", [1], initializer=v1.ones_initializer(), use_resource=True)
        with tf.control_dependencies([total.assign_add(x * x)]):
            checked = tf.gather([0.0, 1.0, 2.0], tf.cast(x, tf.int32))  # which fails out of range
        with tf.control_dependencies([checked]):
            return [tf.math.log(x) + tf.add(total, 1.0, "before"), checked]

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"), v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [1], "x")
        fetches = program(x)
        session.run(v1.global_variables_initializer())
        for value in (1.0, 2.0, -3.0, *more, 0.0):
            with pytest.raises(tf.errors.InvalidArgumentError) if value < 0 else nullcontext():
                session.run(fetches, {x: [value]})
    (before,) = read(tmp_path).traces_of("before")
    total = 16.0 + len(more)  # 1 + 1 + 4 + 9, and 1
    assert before.numbers("min", "max") == [total, total]


def test_sessions_are_deleted_while_their_runs_are_kept(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"), v1.Graph().as_default():
        x = v1.placeholder(tf.float32, [1], "x")
        fetches = a_sum(x)
        session = v1.Session()
        session.run(v1.global_variables_initializer())
        for _ in range(5):
            session.run(fetches, {x: [1.0]})
        dropped = weakref.ref(session)
        session.close()
        del session
        gc.collect()
        assert dropped() is None


def test_runs_of_many_threads_change_nothing_for_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_windows, "_LONGEST_PAUSE", 4)
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"), v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [], "x")
        total = v1.get_variable("total", initializer=0.0, use_resource=True)
        fetch = total.assign_add(tf.math.log(x, name="log"), use_locking=True)
        session.run(v1.global_variables_initializer())
        threads = [
            threading.Thread(target=lambda: [session.run(fetch, {x: np.e}) for _ in range(50)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert session.run(total) == pytest.approx(200.0)
        for value in (1.0, 1.0, 1.0, 1.0, 1.0, 0.0):
            session.run(fetch, {x: value})
    assert tb_debugger_plugin.open_run(str(tmp_path)).origins()[0].op_name == "log"


def test_variables_are_not_read_again_and_again_where_most_runs_cannot_run_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    begun = []
    begin = session_windows.SessionWindow._begin
    monkeypatch.setattr(
        session_windows.SessionWindow, "_begin", lambda *given: begun.append(1) or begin(*given)
    )

    def program(x: v1.Tensor) -> list[v1.Tensor]:
        total = v1.get_variable("total", [1], initializer=v1.ones_initializer(), use_resource=True)
        with tf.control_dependencies([tf.print("x", output_stream="file:///dev/null")]):
            return [total.assign_add(tf.math.log(x))]

    runs(tmp_path, program, [1.0] * 30 + [0.0])
    assert len(begun) == session_windows._MOST_SHORT + 1
    assert sum("is not replayed, because of the op PrintV2" in line for line in caplog.messages) == 1


def test_a_run_that_cannot_run_twice_hides_no_earlier_one(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"), v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [], "x")
        total = v1.get_variable("total", initializer=0.0, use_resource=True)
        with tf.control_dependencies([total.assign_add(tf.math.log(x, name="log"))]):
            shown = tf.nn.sigmoid(x)
        with tf.control_dependencies([tf.print("x", output_stream="file:///dev/null")]):
            printed = total.assign_add(1.0)
        session.run(v1.global_variables_initializer())
        session.run(shown, {x: 0.0})
        session.run(printed.op)
    assert tb_debugger_plugin.open_run(str(tmp_path)).origins()[0].op_name == "log"


def test_a_bad_run_is_on_record_beside_another_one(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"), v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [], "x")
        total = v1.get_variable("total", initializer=0.0, use_resource=True)
        added = total.assign_add(tf.math.log(x, name="first")).op
        session.run(v1.global_variables_initializer())
        session.run([tf.nn.sigmoid(x), added], {x: 0.0})
        other = tf.math.log(x, name="other")
        for value in (1.0, 0.0, 0.0):
            session.run(other, {x: value})
    ops = [one.op_name for one in tb_debugger_plugin.open_run(str(tmp_path)).origins()]
    assert sorted(ops) == ["first", "other"]


def test_variables_that_are_loaded_one_by_one_are_known(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"), v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [], "x")
        parts = [v1.get_variable(f"part_{n}", [], use_resource=True) for n in range(15)]
        added = parts[0].assign_add(x * tf.add_n([part.read_value() for part in parts[1:]], "parts"))
        loss = tf.math.log(added, name="log")
        for number, part in enumerate(parts):
            session.run(part.assign(float(number)))
        for value in (1.0, 1.0, -3.0):
            session.run(loss, {x: value})
    (total,) = read(tmp_path).traces_of("parts")
    assert total.numbers("min") == [105.0]
    assert tb_debugger_plugin.open_run(str(tmp_path)).origins()[0].op_name == "log"


def test_runs_that_nobody_sees_end_a_window(tmp_path: Path) -> None:
    """As those of Keras in graph mode, which calls the session below `run`."""
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"), v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [], "x")
        total = v1.get_variable("total", initializer=1.0, use_resource=True)
        with tf.control_dependencies([total.assign_add(1.0)]):
            loss = tf.math.log(total.read_value() + x, name="log")
        session.run(v1.global_variables_initializer())
        session.run(loss, {x: 1.0})
        options = config_pb2.CallableOptions()
        options.target.append(total.assign(-9.0).op.name)
        session._make_callable_from_options(options)()
        for value in (100.0, 0.0):
            session.run(loss, {x: value})
    assert tb_debugger_plugin.open_run(str(tmp_path)).origins()[0].op_name == "log"


def test_a_session_is_closed_as_without_the_recorder(tmp_path: Path) -> None:
    closed = []

    class Own(v1.Session):
        def close(self) -> None:
            closed.append(self)
            super().close()

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"), v1.Graph().as_default():
        Own().close()
        interactive = v1.InteractiveSession()
        assert v1.get_default_session() is interactive
        interactive.close()
        assert v1.get_default_session() is None
    assert closed


def test_what_is_held_of_texts_counts() -> None:
    assert session_windows._size_of(np.array([b"x" * 1000, b""], object)) > 1000


def test_variables_above_the_limit_are_checked_in_each_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    begun = []
    monkeypatch.setattr(session_windows.SessionWindow, "_begin", lambda *_: begun.append(1))
    with tb_debugger_plugin.record(tmp_path, mode="GUARD", max_held_bytes=3), v1.Graph().as_default():
        x = v1.placeholder(tf.float32, [1], "x")
        fetches = a_sum(x)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            for value in (1.0, 0.0):
                session.run(fetches, {x: [value]})
    assert not begun
    (said,) = [line for line in caplog.messages if "max_held_bytes, which its variables exceed" in line]
    assert "(total)" in said
