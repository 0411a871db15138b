"""`capture/engines/guard/pipelines.py`: a function of an input pipeline is replayed when a call goes bad."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

import tb_debugger_plugin
from tb_debugger_plugin import native
from tb_debugger_plugin.capture.engines.guard import pipelines
from tests.support.recorded import read

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(300)]

ROWS = np.arange(64.0, dtype=np.float32).reshape(16, 4)


def rows(*bad: int) -> np.ndarray:
    table = ROWS.copy()
    table[list(bad), 3] = np.nan
    return table


@tf.function
def step(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(x) * 2.0


def sums(
    folder: Path, made: Callable[[], Iterable[tf.Tensor]], call: Callable[[tf.Tensor], tf.Tensor] = step
) -> list[float]:
    """What a program computes of a data set that it makes while it is recorded."""
    with tb_debugger_plugin.record(folder, mode="GUARD"):
        return [float(call(x)) for x in made()]


def graphs(folder: Path) -> list[str]:
    """The names of the functions of pipelines whose tensors are on record, one for each call."""
    seen = read(folder)
    return [one.function for one in seen.traces if "Dataset_" in one.function and one.op_type == "Mul"]


def test_what_came_in_is_named_by_the_line_of_the_data_set(tmp_path: Path) -> None:
    sums(tmp_path, lambda: tf.data.Dataset.from_tensor_slices(rows(9)).map(lambda x: x * 2.0).batch(4))
    why = str(tb_debugger_plugin.open_run(tmp_path).why())
    assert "from_tensor_slices(rows(9)).map" in why and "1 NaN out of 4 values" in why


def test_a_program_without_functions_has_the_line_of_the_data_set_too(tmp_path: Path) -> None:
    def made() -> Iterable[tf.Tensor]:
        return tf.data.Dataset.from_tensor_slices(rows(9)).map(lambda x: tf.sqrt(x - 1.0)).batch(4)

    sums(tmp_path, made, lambda x: tf.reduce_sum(x) * 2.0)
    why = str(tb_debugger_plugin.open_run(tmp_path).why())
    assert why.startswith("Sqrt, test_pipelines.py:") and "tf.sqrt(x - 1.0)" in why


def test_what_a_pipeline_leaves_out_is_not_replayed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def made() -> Iterable[tf.Tensor]:
        data = tf.data.Dataset.from_tensor_slices(rows(3, 5, 7)).map(lambda x: x * 2.0)
        return data.filter(lambda x: tf.math.is_finite(x[3])).batch(4)

    assert np.isfinite(sums(tmp_path, made)).all()
    seen = read(tmp_path)
    assert (seen.traces, seen.executions, caplog.text) == ([], [], "")


def test_each_function_is_replayed_once_however_many_elements_are_bad(tmp_path: Path) -> None:
    table = rows(*range(16))
    sums(tmp_path, lambda: tf.data.Dataset.from_tensor_slices(table).map(lambda x: x * 2.0).batch(2))
    assert len(graphs(tmp_path)) == 1


def test_a_step_is_seen_behind_a_pipeline_with_many_bad_elements(tmp_path: Path) -> None:
    def made() -> Iterable[tf.Tensor]:
        data = tf.data.Dataset.from_tensor_slices(np.tile(rows(*range(16)), (64, 1))).map(lambda x: x * 2.0)
        return data.batch(512)

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        for x in made():
            step(tf.where(tf.math.is_finite(x), x, np.inf))
    assert any(one.function == "step" for one in read(tmp_path).traces)


def test_functions_compute_the_same_elements_and_call_python_once_for_each(tmp_path: Path) -> None:
    calls: list[float] = []

    def note(x: np.ndarray) -> np.ndarray:
        calls.append(float(x[0]))
        with np.errstate(invalid="ignore"):
            return np.sqrt(x - 1.0)

    def made() -> Iterable[tf.Tensor]:
        data = tf.data.Dataset.from_tensor_slices(ROWS)
        return data.map(lambda x: tf.numpy_function(note, [x], tf.float32)).batch(4)

    found = sums(tmp_path, made)
    assert calls == ROWS[:, 0].tolist()
    expected = [float(step(x)) for x in made()]
    assert np.array_equal(found, expected, equal_nan=True)


def test_a_function_that_takes_a_variable_is_not_replayed(tmp_path: Path) -> None:
    weight = tf.Variable(2.0)
    sums(tmp_path, lambda: tf.data.Dataset.from_tensor_slices(rows(9)).map(lambda x: x * weight).batch(4))
    assert graphs(tmp_path) == []


def test_a_function_that_reads_a_table_is_replayed(tmp_path: Path) -> None:
    initializer = tf.lookup.KeyValueTensorInitializer([0, 1, 2], [1.0, np.nan, 3.0], tf.int64)
    prices = tf.lookup.StaticHashTable(initializer, 0.0)
    sums(tmp_path, lambda: tf.data.Dataset.range(3).map(lambda key: prices.lookup(key) * 2.0).batch(2))
    why = str(tb_debugger_plugin.open_run(tmp_path).why())
    assert why.startswith("LookupTableFindV2, test_pipelines.py:") and "prices.lookup(key)" in why


def test_what_is_saved_has_no_op_of_ours(tmp_path: Path) -> None:
    class Sum(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            total = tf.constant(0.0)
            for one in tf.data.Dataset.from_tensor_slices(x).map(lambda y: y * 2.0):
                total += one
            return total

    with tb_debugger_plugin.record(tmp_path / "log", mode="GUARD"):
        module = Sum()
        assert float(module(tf.constant([1.0, 2.0]))) == 6.0
        tf.saved_model.save(module, str(tmp_path / "model"))
    assert b"TbDebugger" not in (tmp_path / "model" / "saved_model.pb").read_bytes()


def test_bad_elements_of_many_functions_hide_no_bad_step(tmp_path: Path) -> None:
    data = [tf.data.Dataset.from_tensor_slices(rows(*range(16))) for _ in range(20)]
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        for one in data:
            assert len(list(one.map(lambda x: x * 2.0))) == 16
        step(tf.constant([np.inf]))
        module = native.load()
        assert module is not None and module.num_bad_calls() == 0
    assert any(one.function == "step" for one in read(tmp_path).traces)


def test_nothing_is_held_after_the_end_while_a_pipeline_goes_on(tmp_path: Path) -> None:
    module = native.load()
    assert module is not None
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        endless = tf.data.Dataset.from_tensor_slices(rows(*range(16))).repeat()
        iterator = iter(endless.map(lambda x: x * 2.0).prefetch(8))
        next(iterator)
    for _ in range(100):
        next(iterator)
    with tb_debugger_plugin.record(tmp_path / "next", mode="GUARD"):
        assert module.num_bad_calls() == 0
        assert np.isfinite(step(tf.constant([1.0])))
    assert read(tmp_path / "next").traces == []


def test_the_line_is_named_when_the_call_itself_cannot_be_replayed(tmp_path: Path) -> None:
    @tf.function(jit_compile=True)
    def drawn(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(x) * tf.random.uniform([])

    sums(tmp_path, lambda: tf.data.Dataset.from_tensor_slices(rows(9)).map(lambda x: x * 2.0).batch(4), drawn)
    why = str(tb_debugger_plugin.open_run(tmp_path).why())
    assert "from_tensor_slices(rows(9)).map" in why and "This was in step 2." in why


def test_an_error_in_the_end_reaches_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(function: object) -> None:
        raise ValueError("no")

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        list(tf.data.Dataset.from_tensor_slices(rows()).map(lambda x: x * 2.0))
        monkeypatch.setattr(pipelines, "restore", fail)
    with tb_debugger_plugin.record(tmp_path / "next", mode="GUARD"):
        step(tf.constant([np.inf]))
    assert any(one.function == "step" for one in read(tmp_path / "next").traces)


def test_functions_get_their_definitions_back(tmp_path: Path) -> None:
    before = context.context().list_function_names()
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        data = tf.data.Dataset.from_tensor_slices(rows(9)).map(lambda x: x * 2.0).batch(4)
        new = context.context().list_function_names() - before
        names = [name for name in new if "Dataset_map" in str(name)]
        get = type(context.context()).get_function_def
        inside = [get(context.context(), name) for name in names]
    after = [context.context().get_function_def(name) for name in names]
    assert any("TbDebuggerGuard" in str(one) for one in inside)
    assert not any("TbDebugger" in str(one) for one in after)
    assert np.isnan([float(step(x)) for x in data]).tolist() == [False, False, True, False]
