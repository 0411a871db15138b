"""`tb_debugger_plugin/capture/recording.py`: recordings pause, drop records, and switch rules."""

from __future__ import annotations

from pathlib import Path

import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import KeepValues


@tf.function
def scaled(x: tf.Tensor) -> tf.Tensor:
    return tf.multiply(x, tf.constant([1.0, 2.0], name="factors"), name="product")


X = tf.constant([3.0, 4.0])


def test_nothing_is_recorded_during_a_pause(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path, "FULL_HEALTH") as recording:
        scaled(X)
        before = recording.counts()
        recording.pause()
        scaled(X)
        tf.math.log(X)
        tb_debugger_plugin.step()
        scaled(X)
        assert recording.counts() == before
        recording.resume()
        scaled(X)
        assert recording.counts() == (before[0] + 1, before[1] + 2)


def test_a_ring_that_was_emptied_holds_later_records_with_their_constants(
    tmp_path: Path,
) -> None:
    with tb_debugger_plugin.record(tmp_path, "FULL_HEALTH", circular_buffer_size=100) as recording:
        recording.discard()
        for _ in range(5):
            scaled(X)
            tf.math.log(tf.constant(-1.0))
        recording.discard()
        scaled(X)
    with tb_debugger_plugin.open_run(tmp_path) as run:
        assert [row.op_name for row in run.graph_executions()] == ["factors", "x", "product"]
        assert [row.graph_id is not None for row in run.executions()] == [True]


def test_an_op_that_was_bad_before_is_pinned_again(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path, "FULL_HEALTH", circular_buffer_size=2) as recording:
        tf.math.log(tf.constant(-1.0))
        recording.discard()
        tf.math.log(tf.constant(-1.0))
        for _ in range(9):
            tf.math.log(tf.constant(1.0))
    with tb_debugger_plugin.open_run(tmp_path) as run:
        assert len(run.executions(health="bad")) == 1


def test_only_rules_that_are_on_keep_values(tmp_path: Path) -> None:
    rules = [KeepValues(only_bad=True), KeepValues(name_regex="product"), KeepValues(op_regex="Size")]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def with_integers(x: tf.Tensor) -> tuple[tf.Tensor, ...]:
        return tf.size(x), tf.multiply(x, 2.0, name="product"), tf.math.log(x - 3.0, name="log")

    with tb_debugger_plugin.record(tmp_path, "FULL_HEALTH", keep_values=rules) as recording:
        for enabled in ((), (0,), (0, 1, 2)):
            recording.enable_rules(enabled)
            with_integers(X)
    with tb_debugger_plugin.open_run(tmp_path) as run:
        kept = [row.mode == "FULL_TENSOR" for row in run.graph_executions(op_name="^product$")]
        assert kept == [False, False, True]
        kept = [row.mode == "FULL_TENSOR" for row in run.graph_executions(op_name="^log$")]
        assert kept == [False, True, True]
        # A mode of health says nothing of integers, so they are recorded only where a rule wants them.
        assert len(run.graph_executions(op_type="^Size$")) == 1


def test_the_rules_of_a_ring_that_was_emptied_have_their_bytes_again(tmp_path: Path) -> None:
    rule = KeepValues(name_regex="product", max_total_bytes=8)
    with tb_debugger_plugin.record(
        tmp_path, "FULL_HEALTH", circular_buffer_size=100, keep_values=rule
    ) as recording:
        scaled(X)
        scaled(X)
        recording.discard()
        scaled(X)
    with tb_debugger_plugin.open_run(tmp_path) as run:
        assert [row.mode for row in run.graph_executions(op_name="^product$")] == ["FULL_TENSOR"]
