"""`capture/naming/gradients.py`: gradients of all tapes are recorded, around functions and inside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tests.support.recorded import Recorded, counts, read

pytestmark = pytest.mark.tensorflow

X = np.array([0.0, 0.25, 4.0], np.float32)


def graphs_of_calls(recorded: Recorded) -> dict[str, tuple[str, list[str]]]:
    """Of each function that Python called: its graph's name, and the op types on record of that graph."""
    names = recorded.graph_names()
    return {
        execution.op_type: (
            names[execution.graph_id],
            [trace.op_type for trace in recorded.traces if trace.graph_id == execution.graph_id],
        )
        for execution in recorded.executions
        if execution.op_type.startswith("__")
    }


def gradients_on_record(recorded: Recorded, op_type: str) -> list[list[float]]:
    return [trace.counts for trace in recorded.traces if trace.op_type == op_type]


def test_every_call_names_the_graph_that_it_ran(tmp_path: Path) -> None:
    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return tf.math.log(x)

    @tf.function
    def root(x: tf.Tensor) -> tf.Tensor:
        return tf.sqrt(inner(x))

    x = tf.Variable(X)
    with tb_debugger_plugin.record(tmp_path):
        root(x)
        with tf.GradientTape() as tape:
            y = root(x)
        gradient = tape.gradient(y, x)
    recorded = read(tmp_path)
    backward_traces = [trace for trace in recorded.traces if trace.function.startswith("__backward_root")]
    assert counts(gradient) in [trace.counts for trace in backward_traces]
    calls = graphs_of_calls(recorded)
    plain, forward, backward = (
        next(types for name, types in calls.items() if name.startswith(beginning))
        for beginning in ("__inference_root", "__forward_root", "__inference___backward_root")
    )
    assert plain[0] == "root"
    assert {"Sqrt", "StatefulPartitionedCall"} <= set(plain[1])
    assert "Sqrt" in forward[1]
    assert backward[0].startswith("__backward_root")
    assert "SqrtGrad" in backward[1]


def test_the_arguments_of_a_backward_function_are_on_record(tmp_path: Path) -> None:
    @tf.function
    def square(x: tf.Tensor) -> tf.Tensor:
        return x * x

    x = tf.constant(X)
    with tb_debugger_plugin.record(tmp_path):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = square(x)
        tape.gradient(y, x, output_gradients=tf.constant([np.nan, 1.0, -1.0]))
    recorded = read(tmp_path)
    upstream = [
        trace.counts
        for trace in recorded.traces
        if trace.function.startswith("__backward") and trace.op_type == "Placeholder"
    ]
    assert counts([np.nan, 1.0, -1.0]) in upstream
    assert counts(X) in upstream  # what the forward function keeps


def test_a_tape_without_any_function_leaves_one_execution_for_each_op(tmp_path: Path) -> None:
    x = tf.constant(X)
    with tb_debugger_plugin.record(tmp_path):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.math.log(x) * 2.0
        gradient = tape.gradient(y, x)
    recorded = read(tmp_path)
    with np.errstate(all="ignore"):
        assert recorded.eager("Log")[-1].counts == counts(np.log(X))
        assert recorded.eager("Reciprocal")[-1].counts == counts(1 / X)
    assert recorded.eager(recorded.executions[-1].op_type)[-1].counts == counts(gradient)
    assert all(execution.graph_id == "" for execution in recorded.executions)


def test_a_persistent_tape_may_be_asked_twice(tmp_path: Path) -> None:
    @tf.function
    def f(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.sqrt(x), tf.sin(x)

    x = tf.constant(X + 1)
    with tb_debugger_plugin.record(tmp_path):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            root, sine = f(x)
        gradients = [tape.gradient(root, x), tape.gradient(sine, x)]
    np.testing.assert_allclose(gradients[0], 0.5 / np.sqrt(X + 1), rtol=1e-6)
    np.testing.assert_allclose(gradients[1], np.cos(X + 1), rtol=1e-6)
    # Both results are given an upstream gradient each time, one of them zero.
    assert gradients_on_record(read(tmp_path), "SqrtGrad") == [counts(gradients[0]), counts(np.zeros(3))]


def test_second_derivatives_by_tapes_around_a_function_are_seen(tmp_path: Path) -> None:
    function = tf.function(lambda x: tf.sin(x) * x)

    def second(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = function(x)
            first = inner.gradient(y, x)
        return outer.gradient(first, x)

    x = tf.constant(X)
    plain = second(x)
    with tb_debugger_plugin.record(tmp_path):
        result = second(x)
    np.testing.assert_array_equal(result, plain)
    recorded = read(tmp_path)
    assert counts(np.cos(X)) in gradients_on_record(recorded, "Cos")
    assert any("backward" in name for name, _ in graphs_of_calls(recorded).values())


def test_a_forward_accumulator_around_a_function_is_seen(tmp_path: Path) -> None:
    function = tf.function(lambda x: tf.math.log(x, name="log"))
    x = tf.constant(X)
    with tb_debugger_plugin.record(tmp_path):
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as forward:
            y = function(x)
        jvp = forward.jvp(y)
    recorded = read(tmp_path)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(jvp, 1 / X)
        assert counts(np.log(X)) in gradients_on_record(recorded, "Log")
    assert counts(jvp) in [trace.counts for trace in recorded.traces if trace.op_type != "Placeholder"]


def test_custom_and_recomputed_gradients_of_eager_ops_are_seen(tmp_path: Path) -> None:
    @tf.custom_gradient
    def clipped(x: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
        return tf.exp(x), lambda upstream: tf.clip_by_norm(upstream, 0.5)

    recomputed = tf.recompute_grad(lambda x: tf.sinh(clipped(x)))
    x = tf.constant(X)
    with tb_debugger_plugin.record(tmp_path):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = recomputed(x)
        tape.gradient(y, x)
    types = [execution.op_type for execution in read(tmp_path).executions]
    assert types.count("Sinh") == 2  # forwards, and again to go backwards
    assert types.count("Cosh") == 1
    assert "Maximum" in types  # of the clipping


def test_gradients_through_loops_of_eager_calls_show_each_round(tmp_path: Path) -> None:
    @tf.function
    def power(x: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.exp(-y)), (0, x))[1]

    x = tf.Variable(X)
    with tb_debugger_plugin.record(tmp_path):
        with tf.GradientTape() as tape:
            y = power(x)
        gradient = tape.gradient(y, x)
    recorded = read(tmp_path)
    values, expected = X, []
    for _ in range(3):
        values = np.exp(-values)
        expected.append(values)
    assert gradients_on_record(recorded, "Exp") == [counts(value) for value in expected]
    np.testing.assert_allclose(gradient, -np.prod(expected, axis=0), rtol=1e-5)
    products = [t for t in recorded.traces if t.op_type == "Mul" and "grad" in t.function]
    assert len(products) == 3
