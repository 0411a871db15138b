"""`capture/graph/definitions.py`: watched graphs keep static shapes that only Python knows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tests.support.recorded import counts, read

pytestmark = pytest.mark.tensorflow

v1 = tf.compat.v1


def likelihood(dtype: tf.DType, jit_compile: bool) -> Callable[[], tuple[tf.Tensor, tf.Tensor]]:
    """A function with a gradient, such as that of a Gaussian process, and what it computes."""
    scale = tf.Variable(1.0, dtype=dtype)
    x = tf.cast(tf.linspace(0.0, 1.0, 6), dtype)[:, None]

    @tf.function
    def noisy(kernel: tf.Tensor) -> tf.Tensor:
        return tf.linalg.set_diag(kernel, tf.linalg.diag_part(kernel) + tf.cast(0.1, dtype))

    @tf.function(jit_compile=jit_compile)
    def likelihood() -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            inner = noisy(tf.exp(-scale * tf.square(x - tf.transpose(x))))
            loss = tf.reduce_sum(
                tf.linalg.cholesky(tf.linalg.set_diag(inner, tf.linalg.diag_part(inner) + 1))
            )
        return loss, tape.gradient(loss, scale)

    return likelihood


def refusals(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the log says is not watched of the likelihood; functions of other tests are still there."""
    return [line for line in caplog.messages if "does not watch" in line and "likelihood" in line]


@pytest.mark.parametrize(
    ("jit_compile", "keep_graph_optimizations"),
    [(False, False), (False, True), (True, False)],
    ids=["as TensorFlow runs it", "with its optimizations", "compiled by XLA"],
)
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64], ids=lambda dtype: dtype.name)
def test_the_gradient_of_a_diagonal_that_was_set_is_watched(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    dtype: tf.DType,
    jit_compile: bool,
    keep_graph_optimizations: bool,
) -> None:
    plain = likelihood(dtype, jit_compile)()
    with tb_debugger_plugin.record(tmp_path, keep_graph_optimizations=keep_graph_optimizations):
        np.testing.assert_allclose(likelihood(dtype, jit_compile)(), plain, rtol=1e-5)
    assert not refusals(caplog)
    assert {"Exp", "MatrixSetDiagV3", "Cholesky", "MatrixDiagV3"} <= read(tmp_path).types()


@pytest.mark.parametrize("parts", [1, 2])
def test_a_session_runs_and_records_such_a_graph_also_when_it_grows(tmp_path: Path, parts: int) -> None:
    x = np.array([4.0, 9.0], np.float32)
    with tb_debugger_plugin.record(tmp_path), tf.Graph().as_default(), v1.Session() as session:
        fed = v1.placeholder(tf.float32, [None])
        root = tf.sqrt(fed)
        root.set_shape([2])
        if parts == 2:
            np.testing.assert_array_equal(session.run(root, {fed: x}), [2.0, 3.0])
        diagonal = tf.raw_ops.MatrixDiagV3(
            diagonal=root, k=0, num_rows=2, num_cols=2, padding_value=0.0, name="diagonal"
        )
        np.testing.assert_array_equal(session.run(diagonal, {fed: x}), np.diag([2.0, 3.0]))
    assert read(tmp_path).counts_of("diagonal") == [counts(np.diag([2.0, 3.0]))]
