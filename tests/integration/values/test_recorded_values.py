"""`reading/value.py`: values that programs record are read back element by element."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin.errors import NotFoundError
from tb_debugger_plugin.reading.run import Run
from tests.integration.values.test_every_dtype import each, every_kind

pytestmark = pytest.mark.tensorflow

#: Dtypes that have no elements to show.
_OPAQUE = {tf.resource, tf.variant}


@pytest.fixture(scope="module")
def tensors() -> list[tf.Tensor]:
    return every_kind()


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory, tensors: list[tf.Tensor]) -> Path:
    folder = tmp_path_factory.mktemp("ours")
    with tb_debugger_plugin.record(folder, "FULL_TENSOR"):
        # A graph that another module has traced is frozen: see `conftest.py`.
        tf.function(each.python_function)(*tensors)
    return folder


@pytest.fixture(scope="module")
def tensorflows(tmp_path_factory: pytest.TempPathFactory, tensors: list[tf.Tensor]) -> Path:
    folder = tmp_path_factory.mktemp("tensorflows")
    tf.debugging.experimental.enable_dump_debug_info(str(folder), "FULL_TENSOR", circular_buffer_size=-1)
    try:
        # It records functions that are traced while it is on.
        tf.function(each.python_function)(*tensors)
    finally:
        tf.debugging.experimental.disable_dump_debug_info()
    return folder


def _check(run: Run, tensors: list[tf.Tensor]) -> int:
    checked = 0
    (graph,) = [graph for graph in run.graphs() if graph.name == "each"]
    for number, tensor in enumerate(tensors):
        if tensor.dtype in _OPAQUE:
            continue
        try:
            value = run.value(f"tensor_{number}:0", graph_id=graph.graph_id)
        except NotFoundError:
            continue  # not recorded: TensorFlow's own recorder leaves out some dtypes
        expected = _as_plain(tensor.numpy())
        actual = _as_plain(value[...])
        assert (value.dtype, actual.shape) == (tensor.dtype.name, expected.shape)
        np.testing.assert_array_equal(actual, expected, err_msg=value.dtype)
        if expected.ndim:
            np.testing.assert_array_equal(_as_plain(value[::-2]), expected[::-2])
        checked += 1
    return checked


def _as_plain(array: object) -> np.ndarray:
    """An array in a dtype that NumPy compares: quantized numbers lie in fields of structures."""
    plain = np.asarray(array)
    if plain.dtype.names:
        plain = plain[plain.dtype.names[0]]
    return plain.astype(np.float32) if plain.dtype.kind == "V" else plain


def test_values_of_every_dtype_are_those_that_the_program_computed(ours, tensors):
    with tb_debugger_plugin.open_run(ours) as run:
        expected = sum(tensor.dtype not in _OPAQUE for tensor in tensors)
        assert _check(run, tensors) == expected > 80


def test_values_that_tensorflows_own_recorder_wrote_are_read(tensorflows, tensors):
    with tb_debugger_plugin.open_run(tensorflows) as run:
        assert _check(run, tensors) > 50


@tf.function
def _step(x):
    return tf.math.log(x, name="log")


@pytest.mark.parametrize("size", [-1, 4])
def test_values_of_a_program_that_still_runs_are_read(tmp_path, size):
    """They lie in the journal, or in the ring of a circular buffer."""
    with tb_debugger_plugin.record(tmp_path, "FULL_TENSOR", circular_buffer_size=size) as recording:
        for number in range(1, 9):
            _step(tf.constant([1.0, number]))
        recording.FlushNonExecutionFiles()
        with tb_debugger_plugin.open_run(tmp_path) as run:
            values = run.values("log:0")
            assert len(values) >= 2
            count = len(values)
            for number, value in zip(range(9 - count, 9), values, strict=True):
                np.testing.assert_allclose(value, np.log([1.0, number]), rtol=1e-6)
            eager = [row for row in run.executions() if row.is_function]
            np.testing.assert_allclose(eager[-1].value(), np.log([1.0, 8.0]), rtol=1e-6)
