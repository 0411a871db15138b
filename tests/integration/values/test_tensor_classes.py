"""`native/src/tf_classes.h`: tensors read by TensorFlow's classes and by its C API have the same records."""

from __future__ import annotations

from pathlib import Path

import pytest
import tensorflow as tf

import tb_debugger_plugin
from tests.support.programs import run_python
from tests.support.recorded import read

pytestmark = pytest.mark.tensorflow

#: Records shapes of all kinds into argv[1]; without the classes when argv[2] says so.
PROGRAM = """
import sys
import tensorflow as tf
import tb_debugger_plugin
from tb_debugger_plugin import native

if sys.argv[2] == "handles":
    native._knows_classes = lambda: False

@tf.function(input_signature=[tf.TensorSpec([None, 3]), tf.TensorSpec([None, None]), tf.TensorSpec(None)])
def step(one, two, none):
    kept = [tf.exp(x) * 2.0 for x in (one, two, none, tf.cast(one, tf.float16), tf.complex(two, two))]
    return [tf.reduce_sum(x * x) for x in kept]

with tb_debugger_plugin.record(sys.argv[1], sys.argv[3]):
    for size in (0, 1, 50):
        step(tf.ones([size, 3]), tf.fill([size, 70], -1000.0), tf.fill([size], 1e30))
module = native.load()
assert module.reads_classes() == (sys.argv[2] == "classes")
"""


@pytest.mark.long
@pytest.mark.parametrize("mode", ["FULL_HEALTH", "SHAPE", "FULL_TENSOR"])
def test_both_ways_record_the_same(tmp_path: Path, mode: str) -> None:
    actual = []
    for way in ("classes", "handles"):
        run_python("-c", PROGRAM, str(tmp_path / way), way, mode)
        traces = read(tmp_path / way).records("graph_execution_trace")
        actual.append(sorted((trace.op_name, trace.tensor_proto.SerializeToString()) for trace in traces))
    assert len(actual[0]) > 60
    assert actual[0] == actual[1]


def test_a_shape_that_the_program_asserts_wrongly_is_recorded_as_it_is(tmp_path: Path) -> None:
    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None], tf.int32)])
    def step(x: tf.Tensor, shape: tf.Tensor) -> tf.Tensor:
        reshaped = tf.reshape(x, shape, name="reshaped")
        reshaped.set_shape([2, 3])
        return tf.exp(reshaped, name="exp")

    with tb_debugger_plugin.record(tmp_path, "SHAPE"):
        step(tf.ones([6]), tf.constant([3, 2]))
        step(tf.ones([6]), tf.constant([6]))
    recorded = read(tmp_path)
    for name in ("reshaped", "exp"):
        shapes = [trace.numbers("rank", "size", "dim0", "dim1") for trace in recorded.traces_of(name)]
        assert shapes == [[2, 6, 3, 2], [1, 6, 6, 0]]
