"""`capture/plan/coalesce.py`: small tensors that share a watch op have the records of separate watch ops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

import tb_debugger_plugin
from tests.support.recorded import counts, read

pytestmark = pytest.mark.tensorflow

X = np.array([0.0, 0.5, -2.0, np.inf], np.float32)
Y = np.array([2.0, -1.0, 1.0, 0.0], np.float32)
TOGETHER = ["x", "y", "log", "scaled", "square", "abs", "both"]


def step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    scaled = tf.multiply(tf.math.log(x, name="log"), y, name="scaled")
    both = tf.add(tf.square(scaled, name="square"), tf.abs(scaled, name="abs"), name="both")
    return tf.reduce_sum(tf.sqrt(both, name="root"), name="total") + tf.reduce_max(both, name="largest")


def watches_of(concrete: tf.types.experimental.ConcreteFunction) -> dict[str, list[str]]:
    """What each watch op in the runtime records, in order, by the last of it."""
    # The method of the class: the instance shows the program's own.
    definition = context.Context.get_function_def(context.context(), concrete.function_def.signature.name)
    watches = {}
    for node in definition.node_def:
        if node.op.startswith("TbDebuggerWatch"):
            tensor, *before = [name.partition(":")[0] for name in node.input if not name.startswith("^")]
            watches[tensor] = [*before, tensor]
    return watches


def test_what_is_computed_for_one_tensor_only_is_recorded_by_its_op_and_before_it(tmp_path: Path) -> None:
    x, y = tf.constant(X), tf.constant(Y)
    with tb_debugger_plugin.record(tmp_path):
        function = tf.function(step)
        function(x, y)
        watches = watches_of(function.get_concrete_function(x, y))
    recorded = read(tmp_path)
    assert watches["both"] == TOGETHER
    # Two take it, and one of them is not computed element by element; what that gives is summed up.
    assert watches["root"] == ["root"]
    assert [t.op_name for t in recorded.traces][: len(TOGETHER)] == TOGETHER
    with np.errstate(all="ignore"):
        log = np.log(X)
        scaled = log * Y
        square = scaled**2
        expected = [X, Y, log, scaled, square, abs(scaled), square + abs(scaled)]
    assert [t.counts for t in recorded.traces[: len(TOGETHER)]] == [counts(value) for value in expected]


def test_what_could_fail_is_not_waited_for(tmp_path: Path) -> None:
    @tf.function
    def checked(x: tf.Tensor) -> tf.Tensor:
        log = tf.math.log(x, name="log")
        return tf.sqrt(tf.debugging.check_numerics(log, "bad", name="check"), name="root")

    with tb_debugger_plugin.record(tmp_path):
        with pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
            checked(tf.constant(X))
    with np.errstate(all="ignore"):
        assert read(tmp_path).counts_of("log") == [counts(np.log(X))]


def test_large_tensors_and_those_of_another_dtype_have_ops_of_their_own(tmp_path: Path) -> None:
    @tf.function
    def mixed(x: tf.Tensor, large: tf.Tensor) -> tf.Tensor:
        half = tf.cast(tf.square(x, name="square"), tf.float16, name="half")
        root = tf.sqrt(tf.abs(large, name="abs"), name="root")
        return tf.reduce_sum(half) + tf.cast(tf.reduce_sum(root), tf.float16)

    arguments = tf.constant(X), tf.ones([1 << 14])
    with tb_debugger_plugin.record(tmp_path):
        mixed(*arguments)
        watches = watches_of(mixed.get_concrete_function(*arguments))
    assert watches["square"] == ["x", "square"]
    assert watches["half"] == ["half"]
    assert watches["abs"] == ["abs"]
    assert watches["root"] == ["root"]
