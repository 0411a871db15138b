"""`capture/hooks`: TensorFlow's other tools work as they do alone, begun before or after a recording."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tests.support.recorded import Recorded, counts, read, summary

pytestmark = pytest.mark.tensorflow

Block = AbstractContextManager[object]
X = np.array([0.0, 1.0, 4.0], np.float32)


def gradient_of_log(x: tf.Tensor) -> tf.Tensor:
    """Infinite at 0, forwards and backwards."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sqrt(tf.math.log(x, name="log"), name="root")
    return tape.gradient(y, x)


@contextmanager
def checking_numerics() -> Iterator[None]:
    tf.debugging.enable_check_numerics()
    try:
        yield
    finally:
        tf.debugging.disable_check_numerics()


@contextmanager
def tensorflows_recorder(folder: Path) -> Iterator[None]:
    tf.debugging.experimental.enable_dump_debug_info(str(folder), "FULL_HEALTH", circular_buffer_size=-1)
    try:
        yield
    finally:
        tf.debugging.experimental.disable_dump_debug_info()


@contextmanager
def profiler(folder: Path) -> Iterator[None]:
    tf.profiler.experimental.start(str(folder))
    try:
        yield
    finally:
        tf.profiler.experimental.stop()


@contextmanager
def running_eagerly() -> Iterator[None]:
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(False)


def in_order(ours: Block, other: Block, which_first: str) -> list[Block]:
    return [ours, other] if which_first == "ours first" else [other, ours]


both_orders = pytest.mark.parametrize("order", ["ours first", "ours second"])


def log_on_record(recorded: Recorded) -> list[list[float]]:
    return [trace.counts for trace in recorded.traces if trace.op_name == "log"]


@both_orders
def test_check_numerics_raises_what_it_raises_alone_and_what_it_saw_is_on_record(
    tmp_path: Path, order: str
) -> None:
    def message(function: tf.types.experimental.GenericFunction) -> str:
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            function(tf.constant(X))
        return str(caught.value).split("from graph")[0]

    with checking_numerics():
        alone = message(tf.function(gradient_of_log))
    assert "-inf" in alone.lower()
    first, second = in_order(tb_debugger_plugin.record(tmp_path), checking_numerics(), order)
    with first:
        with second:
            assert message(tf.function(gradient_of_log)).split()[:8] == alone.split()[:8]
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"Infinity|-Inf"):
                tf.math.log(tf.constant(X))
        tf.exp(1.0)
    assert not np.isfinite(tf.function(gradient_of_log)(tf.constant(X))).all()
    with np.errstate(divide="ignore"):
        assert log_on_record(read(tmp_path)) == [counts(np.log(X))]


@both_orders
def test_tensorflows_recorder_and_ours_see_the_same_values(tmp_path: Path, order: str) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    first, second = in_order(tb_debugger_plugin.record(ours), tensorflows_recorder(theirs), order)
    function = tf.function(gradient_of_log)
    plain = tf.function(gradient_of_log)(tf.constant(X))
    with first, second:
        for _ in range(2):
            np.testing.assert_array_equal(function(tf.constant(X)), plain)
        tf.exp(tf.constant(X))
    # What was traced under TensorFlow's recorder crashes the program when it is called after that has ended.
    np.testing.assert_array_equal(tf.function(gradient_of_log)(tf.constant(X)), plain)

    def tensors(folder: Path) -> list[tuple[str, int, list[float]]]:
        own = {"Log", "Sqrt", "SqrtGrad", "Reciprocal"}
        return sorted((t.op_name, t.slot, t.counts) for t in read(folder).traces if t.op_type in own)

    assert tensors(ours) == tensors(theirs)
    assert len(tensors(ours)) == 8
    assert not [op_type for op_type in read(ours).types() if op_type.startswith("Debug")]
    (exp,) = (execution for execution in read(ours).executions if execution.op_type == "Exp")
    assert summary(exp.tensor_protos[0])[4:] == counts(np.exp(X))


@both_orders
def test_the_profiler_profiles_what_is_recorded(tmp_path: Path, order: str) -> None:
    first, second = in_order(tb_debugger_plugin.record(tmp_path), profiler(tmp_path / "profile"), order)
    with first, second:
        tf.function(gradient_of_log)(tf.constant(X))
    assert list((tmp_path / "profile").rglob("*.xplane.pb"))
    with np.errstate(divide="ignore"):
        assert log_on_record(read(tmp_path)) == [counts(np.log(X))]


@both_orders
def test_functions_that_run_eagerly_leave_an_execution_for_each_op(tmp_path: Path, order: str) -> None:
    first, second = in_order(tb_debugger_plugin.record(tmp_path), running_eagerly(), order)
    function = tf.function(gradient_of_log)
    with first, second:
        function(tf.constant(X))
    recorded = read(tmp_path)
    assert recorded.traces == []
    values = {e.op_type: summary(e.tensor_protos[0])[4:] for e in recorded.executions if e.tensor_protos}
    with np.errstate(all="ignore"):
        assert values["Log"] == counts(np.log(X))
        assert values["Reciprocal"] == counts(1 / X)


def test_switching_to_eager_and_back_inside_a_recording_shows_both(tmp_path: Path) -> None:
    function = tf.function(lambda x: tf.math.log(x, name="log"))
    with tb_debugger_plugin.record(tmp_path):
        function(tf.constant(X))
        with running_eagerly():
            function(tf.constant(X))
        function(tf.constant(X))
    recorded = read(tmp_path)
    assert len(log_on_record(recorded)) == 2
    assert [e.op_type for e in recorded.executions].count("Log") == 1
