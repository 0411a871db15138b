"""`capture`: everything that a program runs is recorded; NumPy counts the elements of its tensors."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin.events.modes import TensorDebugMode
from tests.support.recorded import counts, read

pytestmark = pytest.mark.tensorflow


def test_a_functions_arguments_and_ops_are_seen_in_the_order_in_which_they_run(tmp_path: Path) -> None:
    @tf.function
    def loss(probs: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        return tf.reduce_mean(-labels * tf.math.log(probs))

    probs, labels = np.array([0.0, 0.5, 1.0], np.float32), np.array([1.0, 0.0, 0.0], np.float32)
    with tb_debugger_plugin.record(tmp_path):
        loss(probs, labels)
    recorded = read(tmp_path)
    with np.errstate(all="ignore"):
        log = np.log(probs)
        expected = {
            "probs": probs,
            "labels": labels,
            "Neg": -labels,
            "Log": log,
            "mul": -labels * log,
            "Mean": np.mean(-labels * log),
        }
    assert {name: recorded.counts_of(name) for name in expected} == {
        name: [counts(value)] for name, value in expected.items()
    }
    order = [trace.op_name for trace in recorded.traces]
    assert order.index("probs") < order.index("Log") < order.index("mul") < order.index("Mean")


def test_gradients_inside_a_function_loops_included_equal_the_plain_ones(tmp_path: Path) -> None:
    def gradient(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in tf.range(3):
                y = tf.sin(y) * x
        return tape.gradient(y, x)

    x = tf.constant([0.1, 0.7])
    plain = tf.function(gradient)(x)
    with tb_debugger_plugin.record(tmp_path):
        recorded_gradient = tf.function(gradient)(x)
    np.testing.assert_array_equal(recorded_gradient, plain)
    cosines = [t for t in read(tmp_path).traces if t.op_type == "Cos"]
    assert len(cosines) == 3


def test_eager_ops_are_seen_with_their_inputs_outputs_and_the_users_line(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path):
        product = tf.matmul(tf.ones([2, 3]), tf.zeros([3, 1]))
        tf.math.log(product)  # the line of the log
    recorded = read(tmp_path)
    executions = {execution.op_type: execution for execution in recorded.executions}
    matmul, log = executions["MatMul"], executions["Log"]
    assert len(matmul.input_tensor_ids) == 2
    assert list(log.input_tensor_ids) == list(matmul.output_tensor_ids)
    stack = [recorded.frames[frame_id] for frame_id in log.code_location.stack_frame_ids]
    own = [frame for frame in stack if frame[0] == __file__]
    assert own[-1][3] == "tf.math.log(product)  # the line of the log"
    assert not any("tb_debugger_plugin" in frame[0] for frame in stack)


def test_eager_ops_and_functions_of_other_threads_are_seen(tmp_path: Path) -> None:
    function = tf.function(lambda x: tf.sqrt(x, name="root"))

    def work() -> None:
        for _ in range(50):
            tf.exp(0.0)
            function(tf.constant(4.0))

    def function_only() -> None:
        function(four)

    four = tf.constant(4.0)
    begin, go_on = threading.Event(), threading.Event()

    def there_before() -> None:
        tf.exp(0.0)
        begin.set()
        go_on.wait()
        work()

    early = threading.Thread(target=there_before)
    early.start()
    begin.wait()
    with tb_debugger_plugin.record(tmp_path):
        go_on.set()
        threads = [threading.Thread(target=target) for target in (work, work, function_only)]
        for thread in threads:
            thread.start()
        for thread in (*threads, early):
            thread.join()
    recorded = read(tmp_path)
    types = [execution.op_type for execution in recorded.executions]
    assert types.count("Exp") == 150
    assert len([name for name in types if name.startswith("__inference_")]) == 151
    assert recorded.counts_of("root") == [counts(2.0)] * 151


def test_ops_that_do_not_run_are_not_made_to_run(tmp_path: Path) -> None:
    @tf.function
    def partly_unused(x: tf.Tensor) -> tf.Tensor:
        tf.exp(x, name="unused")
        return tf.sqrt(x, name="used")

    with tb_debugger_plugin.record(tmp_path):
        partly_unused(tf.ones([2]))
    recorded = read(tmp_path)
    assert len(recorded.of("used")) == 1
    assert recorded.of("unused") == []


def test_xla_compiled_functions_and_what_stands_around_them_are_seen(tmp_path: Path) -> None:
    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return tf.math.log(x, name="log")

    @tf.function(jit_compile=True)
    def compiled(x: tf.Tensor) -> tf.Tensor:
        return inner(x) * 2.0

    @tf.function
    def outer(x: tf.Tensor) -> tf.Tensor:
        return compiled(x) + inner(x)

    x = tf.Variable([0.0, 1.0])
    with tb_debugger_plugin.record(tmp_path) as recording:
        with tf.GradientTape() as tape:
            y = outer(x)
        np.testing.assert_array_equal(y, [-np.inf, 0.0])
        np.testing.assert_array_equal(tape.gradient(y, x), [np.inf, 3.0])
        np.testing.assert_array_equal(compiled(x), [-np.inf, 0.0])
        assert recording.on
    log = read(tmp_path).traces_of("log")
    full = [trace for trace in log if trace.mode is TensorDebugMode.FULL_HEALTH]
    assert [trace.counts for trace in full] == [counts([-np.inf, 0.0])]
    # In the forward function of the gradient, and in the last call.
    concise = [trace for trace in log if trace.mode is TensorDebugMode.CONCISE_HEALTH]
    assert [trace.without_id for trace in concise] == [[2.0, 1.0, 0.0, 0.0]] * 2


def test_tensors_watched_beside_their_consumers_are_seen_in_stateless_calls_and_loops(tmp_path: Path) -> None:
    # Integers are watched beside; nothing here is stateful but the watch ops.
    @tf.function
    def inner(i: tf.Tensor) -> tf.Tensor:
        return tf.add(i, 1, name="next")

    @tf.function
    def outer(i: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(3):
            i = inner(i)
        return inner(i) if i > 0 else i

    with tb_debugger_plugin.record(tmp_path, "SHAPE"):
        assert int(outer(tf.constant(0))) == 4
    assert len(read(tmp_path).of("next")) == 4


def test_functions_traced_before_the_recording_are_seen(tmp_path: Path) -> None:
    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return tf.math.log(x, name="log")

    @tf.function
    def outer(x: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(2):
            x = inner(x) + 1.0
        return x

    data = tf.data.Dataset.from_tensor_slices([1.0, 2.0]).map(lambda x: tf.negative(x, name="neg"))
    x = tf.Variable([1.0, 4.0])

    def run() -> list[np.ndarray]:
        with tf.GradientTape() as tape:
            y = outer(x)
        return [y.numpy(), tape.gradient(y, x).numpy(), *data.as_numpy_iterator()]

    plain = run()
    with tb_debugger_plugin.record(tmp_path):
        recorded_run = run()
    after = run()
    for one, two, three in zip(plain, recorded_run, after, strict=True):
        np.testing.assert_array_equal(two, one)
        np.testing.assert_array_equal(three, one)
    recorded = read(tmp_path)
    first = np.log(np.float32([1.0, 4.0]))
    assert recorded.counts_of("log") == [counts(first), counts(np.log(first + np.float32(1)))]
    # TensorFlow copies the functions of a pipeline when the pipeline is made.
    assert recorded.of("neg") == []
    assert any(trace.op_type == "Reciprocal" for trace in recorded.traces)
