"""`native`: recorded numbers are those that NumPy computes, in every mode, for every dtype and odd shapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import native
from tb_debugger_plugin.capture.options import covers
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.modes import TensorDebugMode
from tests.support import twin
from tests.support.arrays import whole_tensor
from tests.support.recorded import Summary, counts, read, summary

pytestmark = pytest.mark.tensorflow

DTYPES = [tf.float16, tf.bfloat16, tf.float32, tf.float64]
EVERY_DTYPE = [*DTYPES, tf.complex64, tf.complex128, tf.dtypes.experimental.float8_e5m2]
SHAPES: list[list[int]] = [[], [0], [3, 0, 2], [1], [17], [4, 33], [1, 2, 1, 3, 1, 2, 1, 5]]
SUMMARIES = ["CURT_HEALTH", "CONCISE_HEALTH", "FULL_HEALTH", "FULL_NUMERICS", "SHAPE"]


def awkward(shape: list[int], dtype: tf.DType) -> tf.Tensor:
    """Every kind of number there is, denormals and signed zeros among them."""
    parts = [1 + 2j, complex(np.nan, 1), complex(0, -np.inf), -1j, complex(3, np.inf)]
    more = parts if dtype.is_complex else [float(dtype.max), float(dtype.min)]
    kinds = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5, *more]
    random = np.random.default_rng(len(shape))
    values = random.choice(kinds, size=shape).astype(dtype.as_numpy_dtype)
    if values.size > 2 and not dtype.is_complex:
        values.ravel()[1] = denormals(dtype)[0]
    return tf.constant(values, dtype)


def denormals(dtype: tf.DType) -> np.ndarray:
    """The smallest numbers, which are zero to the threads of TensorFlow: they flush them."""
    return np.array([1, 3], f"uint{8 * dtype.size}").view(dtype.as_numpy_dtype)


def tensors_of(dtype: tf.DType) -> list[tf.Tensor]:
    """Tensors of a dtype: awkward ones, one with numbers that differ, one without finite numbers."""
    many = np.random.default_rng(0).normal(5, 3, [70, 91]).astype(dtype.as_numpy_dtype)
    others = [many, np.array([np.nan, -np.inf], dtype.as_numpy_dtype)]
    others += [] if dtype.is_complex else [denormals(dtype)]
    return [awkward(shape, dtype) for shape in SHAPES] + [tf.constant(values, dtype) for values in others]


@pytest.mark.parametrize(
    ("dtype", "mode"),
    [
        pytest.param(dtype, mode, id=f"{dtype.name}-{mode}")
        for dtype in EVERY_DTYPE
        for mode in SUMMARIES
        if covers(TensorDebugMode[mode], dtype)
    ],
)
def test_graph_and_eager_tensors_have_the_twins_numbers(tmp_path: Path, mode: str, dtype: tf.DType) -> None:
    tensors, spec = tensors_of(dtype), TensorDebugMode[mode]
    function = tf.function(lambda x: tf.identity_n([x], name="watched"))
    with tb_debugger_plugin.record(tmp_path, mode):
        for tensor in tensors:
            function(tensor)
            tf.identity_n([tensor])
    recorded = read(tmp_path)
    number = dtype.as_datatype_enum
    expected = [Summary(spec, twin.summarize(tensor.numpy(), number, spec, -1)) for tensor in tensors]
    for actual in (recorded.traces_of("watched"), recorded.eager("IdentityN")):
        for each, other in zip(actual, expected, strict=True):
            np.testing.assert_allclose(each.without_id, other.without_id, rtol=1e-12)


def test_without_the_native_library_complex_tensors_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "load", lambda: None)
    values = tf.constant([1 + 2j, -3j])
    with tb_debugger_plugin.record(tmp_path):
        actual = tf.function(lambda x: tf.abs(tf.identity_n([x], name="pair")[0], name="size"))(values)
    np.testing.assert_allclose(actual, [5**0.5, 3])
    recorded = read(tmp_path)
    assert len(recorded.of("size")) == 1 and not recorded.of("pair")


@pytest.mark.parametrize(
    "options",
    [{"tensor_debug_mode": "FULL_NUMERICS"}, {"every_n_steps": 2}, {"step_range": (1, None)}],
    ids=str,
)
def test_what_only_the_native_library_can_is_refused_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, object]
) -> None:
    monkeypatch.setattr(native, "load", lambda: None)
    with pytest.raises(UsageError, match=f"do not support .*{next(iter(options))}.*: leave it out"):
        tb_debugger_plugin.enable_dump_debug_info(tmp_path, **options)


@pytest.mark.parametrize("limit", [12, None])
def test_without_the_native_library_whole_tensors_have_no_limit_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, limit: int | None
) -> None:
    monkeypatch.setattr(native, "load", lambda: None)
    value = np.arange(100, dtype=np.float32)
    with tb_debugger_plugin.record(tmp_path, "FULL_TENSOR", max_tensor_bytes=limit):
        tf.function(lambda x: tf.negative(x, name="neg"))(value)
        tf.negative(value)
    said = [record.message for record in caplog.records if "max_tensor_bytes" in record.message]
    assert len(said) == (limit is not None) and all("not only up to 12 bytes" in text for text in said)
    recorded = read(tmp_path)
    protos = recorded.protos_of("neg")
    protos += [e.tensor_protos[0] for e in recorded.executions if e.op_type == "Neg"]
    assert len(protos) == 2
    for proto in protos:
        assert proto.left_out_bytes == 0
        np.testing.assert_array_equal(whole_tensor(proto), -value)


def test_the_twin_agrees_with_counting_element_by_element() -> None:
    for dtype in DTYPES:
        array = awkward([4, 33], dtype).numpy()
        full = twin.summarize(array, dtype.as_datatype_enum, TensorDebugMode.FULL_HEALTH, 5)
        assert full[:4] == [5, -1, dtype.as_datatype_enum, 2]
        assert full[4:] == counts(array)


def test_shape_mode_keeps_the_last_six_dimensions_of_any_dtype(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path, "SHAPE"):
        tf.function(lambda x: tf.cast(x, tf.int64, name="cast"))(tf.zeros([2, 3, 1, 4, 1, 1, 5, 2], tf.int32))
    assert read(tmp_path).of("cast")[0][1:] == [9, 8, 240, 1, 4, 1, 1, 5, 2]


def test_a_value_above_the_limit_is_a_summary_and_says_so(tmp_path: Path) -> None:
    function = tf.function(lambda x: tf.identity_n([x], name="watched")[0])
    values = [
        np.array([1.0, np.nan, -3.0], np.float32),  # 12 bytes, the limit
        np.array([1.0, np.nan, -3.0, 0.0], np.float32),
        np.arange(12, dtype=np.int64).reshape(3, 4),
        np.array([b"four", b"long enough to stand on the heap"]),
        np.array([b"short"]),
    ]
    with tb_debugger_plugin.record(tmp_path, "FULL_TENSOR", max_tensor_bytes=12):
        for value in values:
            function(value)
            tf.identity_n([tf.constant(value)])
        # A constant's value is recorded when its graph first runs.
        tf.function(lambda: tf.identity_n([tf.constant([2.0, np.inf] * 2, name="table")]))()
    recorded = read(tmp_path)
    in_graphs, (table,) = recorded.protos_of("watched"), recorded.protos_of("table")
    eager = [e.tensor_protos[0] for e in recorded.executions if e.op_type == "IdentityN"]
    modes = {trace.tensor_debug_mode for trace in recorded.records("graph_execution_trace")}
    assert modes == {TensorDebugMode.FULL_TENSOR}
    health, shape = int(TensorDebugMode.FULL_HEALTH), int(TensorDebugMode.SHAPE)
    for protos in (in_graphs, eager):
        said = [(proto.summary_mode, proto.left_out_bytes) for proto in protos]
        assert said == [(0, 0), (health, 16), (shape, 96), (shape, 36), (0, 0)]
        assert protos[0].tensor_content == values[0].tobytes()
        assert summary(protos[1])[1:] == [-1, 1, 1, *counts(values[1])]
        assert summary(protos[2])[1:] == [9, 2, 12, 3, 4, 0, 0, 0, 0]
        assert summary(protos[3])[1:] == [7, 1, 2, 2, 0, 0, 0, 0, 0]
        assert list(protos[4].string_val) == [b"short"]
    assert (table.summary_mode, summary(table)[4:]) == (health, counts([2.0, np.inf] * 2))
