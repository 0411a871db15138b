"""`capture/hooks/sessions.py`: runs of TF1-style sessions are recorded, and their graphs do not change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import native
from tb_debugger_plugin.capture import placement
from tests.support.recorded import counts, read

pytestmark = pytest.mark.tensorflow

v1 = tf.compat.v1
X = np.array([0.0, 0.5, 4.0], np.float32)


def health(folder: Path, op_name: str) -> list[list[float]]:
    return read(folder).counts_of(op_name)


@pytest.fixture(params=["old control flow", "new control flow"])
def control_flow(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "old control flow":
        v1.disable_control_flow_v2()
    yield request.param
    v1.enable_control_flow_v2()


def test_each_run_records_what_it_computes_and_is_fed_and_nothing_else(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path), tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None], name="x")
        log = tf.math.log(x, name="log")
        root = tf.sqrt(tf.add(log, 1.0, name="sum"), name="root")
        before = graph.as_graph_def()
        with v1.Session() as session:
            for _ in range(2):
                np.testing.assert_array_equal(session.run(tf.identity(log), {x: X}), session.run(log, {x: X}))
            session.run(root, {x: X, log: X})  # what is fed is not computed
            session.run(root.op, {x: X})
        nodes = {node.name: node for node in graph.as_graph_def().node}
        assert all(nodes[node.name] == node for node in before.node)
        assert not [name for name in nodes if "Debugger" in name]
    with np.errstate(all="ignore"):
        logs, roots = np.log(X), [np.sqrt(X + 1), np.sqrt(np.log(X) + 1)]
        assert health(tmp_path, "log") == [counts(logs)] * 4 + [counts(X), counts(logs)]
        assert health(tmp_path, "x") == [counts(X)] * 5
        assert health(tmp_path, "root") == [counts(root) for root in roots]


def test_loops_and_branches_are_seen_in_both_kinds_of_control_flow(tmp_path: Path, control_flow: str) -> None:
    def build() -> tuple[tf.Tensor, list[tf.Tensor]]:
        x = v1.placeholder(tf.float32, [3], name="x")
        looped = tf.while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y, name="sine")), (0, x), parallel_iterations=1
        )[1]
        result = tf.cond(
            tf.reduce_sum(x) > 0, lambda: tf.exp(looped, name="taken"), lambda: tf.exp(-looped, name="left")
        )
        return x, [result, tf.gradients(result, x)[0]]

    def run() -> list[np.ndarray]:
        with tf.Graph().as_default(), v1.Session() as session:
            x, results = build()
            return session.run(results, {x: X})

    plain = run()
    with tb_debugger_plugin.record(tmp_path) as recording:
        results = run()
        assert recording.on
    np.testing.assert_array_equal(results, plain)
    sines = [np.sin(X), np.sin(np.sin(X)), np.sin(np.sin(np.sin(X)))]
    # Gradients call the values that they are given as they were called where they come from.
    traces = [trace for trace in read(tmp_path).traces if trace.op_type != "Placeholder"]
    actual = {
        name: [trace.counts for trace in traces if trace.op_name.rpartition("/")[2] == name]
        for name in ("sine", "taken", "left")
    }
    assert actual["sine"] == [counts(sine) for sine in sines]
    assert actual["taken"] == [counts(np.exp(sines[-1]))]
    assert actual["left"] == []
    assert len([trace for trace in traces if trace.op_type == "Cos"]) == 3


@pytest.mark.parametrize("place", ["our ops", "TensorFlow's ops", "another device"])
def test_all_that_a_loop_computes_is_seen_whole_numbers_conditions_and_loops_in_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, control_flow: str, place: str
) -> None:
    def run() -> list[np.ndarray]:
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [3], name="x")

            def body(i: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
                inner = tf.while_loop(
                    lambda j, _: tf.less(j, 2, name="inner_below"),
                    lambda j, z: (tf.add(j, 1, name="inner_next"), tf.sqrt(z, name="root")),
                    (0, tf.reshape(y, [3, 1])),
                )[1]
                grown = tf.cond(i > 0, lambda: tf.exp(inner, name="exp"), lambda: inner)
                return tf.add(i, 1, name="next"), tf.reshape(grown, [3])

            return session.run(
                tf.while_loop(lambda i, y: tf.less(i, 3, name="below"), body, (0, x)), {x: [1.0, 2.0, 3.0]}
            )

    plain = run()
    if place == "TensorFlow's ops":
        monkeypatch.setattr(native, "load", lambda: None)
    elif place == "another device":
        monkeypatch.setattr(placement, "may_be_elsewhere", lambda device: True)
    with tb_debugger_plugin.record(tmp_path, "SHAPE"):
        for one, other in zip(run(), plain, strict=True):
            np.testing.assert_array_equal(one, other)
    names = [trace.op_name.rpartition("/")[2] for trace in read(tmp_path).traces]
    expected = {"below": 4, "inner_below": 9, "inner_next": 6, "root": 6, "exp": 2, "next": 3}
    assert {name: names.count(name) for name in expected} == expected


def test_a_training_keeps_its_bits_its_checkpoints_and_its_graph(tmp_path: Path) -> None:
    def train(folder: Path) -> tuple[list[bytes], bytes]:
        with tf.Graph().as_default() as graph:
            weights = [
                v1.get_variable(
                    f"w{i}", initializer=tf.random.stateless_normal([8, 8], [1, i]), use_resource=i > 0
                )
                for i in range(3)
            ]
            y = tf.ones([4, 8])
            for weight in weights:
                y = tf.tanh(y @ weight)
            step = v1.train.AdamOptimizer(0.01).minimize(tf.reduce_mean(y * y))
            saver = v1.train.Saver()
            with v1.train.MonitoredTrainingSession() as session:
                for _ in range(5):
                    session.run(step)
                raw = session._tf_sess()
                saver.save(raw, str(folder / "model"))
                values = [value.tobytes() for value in raw.run(weights)]
            return values, graph.as_graph_def().SerializeToString()

    (tmp_path / "plain").mkdir()
    plain, _ = train(tmp_path / "plain")
    (tmp_path / "recorded").mkdir()
    with tb_debugger_plugin.record(tmp_path / "log") as recording:
        values, graph = train(tmp_path / "recorded")
        assert recording.on
    assert values == plain
    assert b"TbDebugger" not in graph
    assert b"TbDebugger" not in (tmp_path / "recorded" / "model.meta").read_bytes()
    reader = tf.train.load_checkpoint(str(tmp_path / "recorded" / "model"))
    assert reader.get_tensor("w0").tobytes() == plain[0]
    tanh_grads = [t for t in read(tmp_path / "log").traces if t.op_type == "TanhGrad"]
    assert len(tanh_grads) == 15


def test_callables_partial_runs_and_functions_in_a_session_work(tmp_path: Path) -> None:
    function = tf.function(lambda x: tf.math.log(x, name="log"))
    with tb_debugger_plugin.record(tmp_path), tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None], name="x")
        called = function(x)
        logs = session.run(called, {x: X})
        product = tf.multiply(called, x, name="product")
        total = tf.reduce_sum(product)
        np.testing.assert_array_equal(
            session.make_callable(total, [x])(X[1:]), session.run(total, {x: X[1:]})
        )
        square = tf.square(v1.placeholder_with_default(X, [3]), name="square")
        for fetches in (square, square.op, [square]):
            session.make_callable(fetches)()
        session.make_callable(square, accept_options=True)(options=v1.RunOptions())
        handle = session.partial_run_setup([product, total], [x])
        np.testing.assert_array_equal(session.partial_run(handle, product, {x: X[1:]}), logs[1:] * X[1:])
        session.partial_run(handle, total)
    with np.errstate(all="ignore"):
        assert health(tmp_path, "log") == [counts(np.log(X))] + [counts(np.log(X[1:]))] * 3
        assert health(tmp_path, "product") == [counts(np.log(X[1:]) * X[1:])] * 3
        assert health(tmp_path, "square") == [counts(X * X)] * 4


def test_an_error_in_a_session_reads_as_it_does_without_us(tmp_path: Path) -> None:
    def message() -> str:
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [None], name="x")
            wrong = tf.reshape(x, [2, 2], name="wrong")
            with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                session.run(wrong, {x: X})
            assert caught.value.op is wrong.op
            return str(caught.value)

    messages = []
    for record in (False, True):
        if record:
            tb_debugger_plugin.enable_dump_debug_info(tmp_path, "FULL_HEALTH")
        messages.append(message())
    assert messages[1] == messages[0]


def test_a_session_outlives_its_recording_and_one_from_before_is_left_alone_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from tensorflow.python.client import session as sessions

    hooks = sessions.BaseSession.__init__, sessions.BaseSession._do_run
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None], name="x")
        root = tf.sqrt(x, name="root")
        with v1.Session() as early:
            with tb_debugger_plugin.record(tmp_path):
                late = v1.Session()
                late.run(root, {x: X})
                for _ in range(2):
                    early.run([root, root.op, x], {x: X})
                with v1.Session() as another:
                    another.run(root, {x: X})
            assert (sessions.BaseSession.__init__, sessions.BaseSession._do_run) == hooks
            more = tf.exp(root)
            np.testing.assert_array_equal(late.run(more, {x: X}), early.run(more, {x: X}))
            late.close()
    assert health(tmp_path, "root") == [counts(np.sqrt(X))] * 2
    said = [record.getMessage() for record in caplog.records if record.name == "tb_debugger_plugin"]
    assert len(said) == 1
    assert "made before the recording" in said[0]
    assert said[0].endswith("This session ran root, root:0.")


def test_functions_traced_in_a_graph_have_it_around_them(tmp_path: Path) -> None:
    @tf.function
    def inside_of_outermost(x: tf.Tensor) -> tf.Tensor:
        return tf.math.log(x, name="log")

    @tf.function
    def outermost(x: tf.Tensor) -> tf.Tensor:
        return inside_of_outermost(x)

    @tf.function
    def first_of_two() -> tf.Tensor:
        return tf.ones([3])

    with tb_debugger_plugin.record(tmp_path):
        with tf.Graph().as_default(), v1.Session() as session:
            called = outermost(first_of_two())
            np.testing.assert_array_equal(session.run(tf.identity(called, name="called")), np.zeros(3))
        outermost(tf.ones([2]))  # around this there is no graph that anything runs
    recorded = read(tmp_path)
    graphs = recorded.records("debugged_graph")
    around = {graph.graph_id: graph.outer_context_id for graph in graphs}
    of_session = {op.graph_id for op in recorded.records("graph_op_creation") if op.op_name == "called"}
    roots = [graph for graph in graphs if graph.graph_name in ("outermost", "first_of_two")]
    assert [{graph.outer_context_id} for graph in roots] == [of_session, of_session, {""}]
    inside = [graph for graph in graphs if graph.graph_name == "inside_of_outermost"]
    assert [around[graph.outer_context_id] for graph in inside] == [*of_session, ""]
