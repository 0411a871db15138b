"""`analysis/precision`: what the lens predicts of a float32 program happens when it runs in float16."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin.analysis.precision.tensor import PrecisionVerdict

_STEPS = 8


def program(dtype: tf.DType) -> tf.types.experimental.GenericFunction:
    """A layer that grows fourfold each step, and one that shrinks as much."""

    @tf.function
    def step(x: tf.Tensor, n: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        factor = tf.cast(tf.pow(4.0, n), dtype)
        grown = tf.multiply(tf.cast(x, dtype), factor, name="grown")
        shrunk = tf.divide(tf.cast(x, dtype), factor * factor, name="shrunk")
        return grown, shrunk

    return step


def run(dtype: tf.DType) -> list[tuple[np.ndarray, np.ndarray]]:
    """The results of each step."""
    step, x = program(dtype), tf.constant(np.linspace(0.5, 30.0, 60), tf.float32)
    return [
        tuple(np.asarray(y.numpy(), np.float64) for y in step(x, tf.constant(float(n))))
        for n in range(_STEPS)
    ]


@pytest.mark.parametrize("mode", ["FULL_NUMERICS", "EXPONENTS", "FULL_TENSOR"])
def test_a_program_overflows_in_float16_at_the_predicted_step(tmp_path: Path, mode: str) -> None:
    with tb_debugger_plugin.record(tmp_path, mode):
        run(tf.float32)
    with tb_debugger_plugin.open_run(tmp_path) as opened:
        found = {one.place.op_name: one for one in opened.precision("float16").tensors}
    grown, shrunk = found["grown"], found["shrunk"]
    really = [np.isinf(grown).any() for grown, _ in run(tf.float16)]
    assert grown.verdict is PrecisionVerdict.OVERFLOWS and grown.overflow is not None
    assert grown.overflow.step == really.index(True) == 6
    assert grown.found.num_over == sum(really) == 2
    assert not shrunk.overflow
    if mode != "FULL_NUMERICS":
        with np.errstate(under="ignore"):
            small = [np.float16(shrunk) == 0 for _, shrunk in run(tf.float32)]
        assert shrunk.vanishing.least <= np.mean(small) <= shrunk.vanishing.most < 1
        assert np.mean(small) > 0
