"""`capture/options.py`: filters leave out functions, ops, dtypes and steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tests.support.recorded import Recorded, counts, read, summary

pytestmark = pytest.mark.tensorflow


def recorded_types(recorded: Recorded) -> tuple[set[str], set[str]]:
    """Op types that have a value on record: in graphs, and eager ones."""
    return recorded.types(), {
        e.op_type for e in recorded.executions if any(proto.ByteSize() for proto in e.tensor_protos)
    }


def test_a_function_is_chosen_by_name_with_all_that_is_part_of_it(tmp_path: Path) -> None:
    @tf.function
    def chosen(x: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(2):
            x = tf.exp(x)
        return x

    @tf.function
    def other(x: tf.Tensor) -> tf.Tensor:
        return tf.sqrt(x)

    x = tf.Variable(0.5)
    with tb_debugger_plugin.record(tmp_path, function_regex="^chosen$"):
        with tf.GradientTape() as tape:
            y = chosen(x)
        tape.gradient(y, x)
        other(tf.tanh(1.0))
    graphs, eager = recorded_types(read(tmp_path))
    assert {"Exp", "Mul"} <= graphs  # Mul: the gradient of Exp, in the backward function's loop
    assert "Sqrt" not in graphs
    assert "Tanh" not in eager
    assert any("Tanh" == e.op_type for e in read(tmp_path).executions)


def test_a_name_scope_is_chosen_by_name(tmp_path: Path) -> None:
    @tf.function
    def function(x: tf.Tensor) -> tf.Tensor:
        with tf.name_scope("first"):
            x = tf.sqrt(x)
        with tf.name_scope("second"), tf.name_scope("inner"):
            return tf.exp(x)

    with tb_debugger_plugin.record(tmp_path, name_regex="(^|/)second/"):
        function(tf.tanh(1.0))
    graphs, eager = recorded_types(read(tmp_path))
    assert graphs == {"Exp"}
    assert eager == set()


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (None, {"float16", "float32", "float64", "int32", "int64", "bool"}),
        ([tf.float32, tf.int64], {"float32", "int64"}),
        (["float16", "bool"], {"float16", "bool"}),
        ((tf.float64, "int32"), {"float64", "int32"}),
        ({np.float32}, {"float32"}),
        ([], set()),
        (lambda dtype: dtype.is_integer, {"int32", "int64"}),
        (lambda dtype: dtype in (tf.bool, tf.float16), {"bool", "float16"}),
    ],
    ids=["all", "dtypes", "names", "both", "NumPy", "none", "integers", "by a function"],
)
def test_dtypes_are_chosen_by_a_collection_or_a_function(
    tmp_path: Path, chosen: object, expected: set[str]
) -> None:
    names = ["float16", "float32", "float64", "int32", "int64", "bool"]
    x = tf.constant([0, 1])
    function = tf.function(lambda x: [tf.cast(x + 1, name, name=name) for name in names if name != "int32"])
    with tb_debugger_plugin.record(tmp_path, "SHAPE", tensor_dtypes=chosen):
        function(x)
        for name in names:
            tf.zeros_like(x, name)
    recorded = read(tmp_path)
    in_graphs = {tf.as_dtype(int(*trace.numbers("dtype"))).name for trace in recorded.traces}
    eager = {
        tf.as_dtype(int(summary(proto)[1])).name
        for execution in recorded.executions
        if execution.op_type in ("ZerosLike", "Fill")
        for proto in execution.tensor_protos
        if proto.ByteSize()
    }
    assert in_graphs == expected
    assert eager == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("Exp", {"Exp", "Expm1"}),
        ("Exp$", {"Exp"}),
        ("(Sqrt|Exp)$", {"Exp", "Sqrt"}),
        (".*m1", {"Expm1"}),
        ("xp", set()),
        ("(?i)sqrt", {"Sqrt"}),
    ],
)
def test_op_types_are_chosen_by_a_pattern_from_their_beginning(
    tmp_path: Path, pattern: str, expected: set[str]
) -> None:
    def ops(x: tf.Tensor) -> list[tf.Tensor]:
        return [tf.exp(x), tf.math.expm1(x), tf.sqrt(x)]

    with tb_debugger_plugin.record(tmp_path, op_regex=pattern):
        tf.function(ops)(tf.ones([2]))
        ops(tf.ones([2]))
    assert recorded_types(read(tmp_path)) == (expected, expected)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"every_n_steps": 3}, [0, 3, 6, 9]),
        ({"step_range": (2, 5)}, [2, 3, 4]),
        ({"step_range": (1, None), "every_n_steps": 4}, [1, 5, 9]),
        ({}, list(range(10))),
    ],
    ids=str,
)
def test_only_the_chosen_steps_are_recorded(
    tmp_path: Path, options: dict[str, object], expected: list[int]
) -> None:
    function = tf.function(lambda x: tf.negative(x, name="neg"))
    inputs = [np.arange(i + 1, dtype=np.float32) for i in range(10)]
    with tb_debugger_plugin.record(tmp_path, **options):
        for x in inputs:
            np.testing.assert_array_equal(function(x), -x)
            tf.exp(x)
            tb_debugger_plugin.step()
    recorded = read(tmp_path)
    assert recorded.counts_of("neg") == [counts(-inputs[i]) for i in expected]
    assert [each.counts for each in recorded.eager("Exp")] == [counts(np.exp(inputs[i])) for i in expected]


def test_the_constants_of_a_graph_that_first_runs_in_a_step_left_out_come_with_the_first_one_kept(
    tmp_path: Path,
) -> None:
    function = tf.function(lambda x: x * tf.constant([2.0, np.inf], name="table"))
    with tb_debugger_plugin.record(tmp_path, step_range=(1, None)):
        for _ in range(3):
            function(tf.ones([2]))
            tb_debugger_plugin.step()
    assert read(tmp_path).counts_of("table") == [counts([2.0, np.inf])]


def test_a_program_that_marks_no_step_is_told_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with tb_debugger_plugin.record(tmp_path, every_n_steps=10):
        tf.exp(1.0)
    assert "never called tb_debugger_plugin.step()" in caplog.text
    assert len(read(tmp_path).executions) == 1


def test_a_step_without_a_recording_does_nothing() -> None:
    tb_debugger_plugin.step()
