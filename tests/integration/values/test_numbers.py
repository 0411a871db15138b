"""`native`: recorded numbers are those that NumPy computes, in every mode, for every dtype and odd shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import native
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.modes import MOMENTS, TensorDebugMode
from tests.support import twin
from tests.support.arrays import whole_tensor
from tests.support.recorded import Summary, counts, read, summary

pytestmark = pytest.mark.tensorflow

DTYPES = [tf.float16, tf.bfloat16, tf.float32, tf.float64]
SHAPES: list[list[int]] = [[], [0], [3, 0, 2], [1], [17], [4, 33], [1, 2, 1, 3, 1, 2, 1, 5]]
SUMMARIES = ["CURT_HEALTH", "CONCISE_HEALTH", "FULL_HEALTH", "SHAPE"]


def awkward(shape: list[int], dtype: tf.DType) -> tf.Tensor:
    """Every kind of number there is, denormals and signed zeros among them."""
    smallest = np.array(1, np.uint16 if dtype.size == 2 else f"uint{8 * dtype.size}")
    kinds = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5, float(dtype.max), float(dtype.min)]
    random = np.random.default_rng(len(shape))
    values = random.choice(kinds, size=shape).astype(dtype.as_numpy_dtype)
    if values.size > 2:
        values.ravel()[1] = smallest.view(dtype.as_numpy_dtype)  # the smallest denormal
    return tf.constant(values, dtype)


@pytest.mark.parametrize("mode", SUMMARIES)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_graph_and_eager_tensors_have_the_twins_numbers(tmp_path: Path, mode: str, dtype: tf.DType) -> None:
    tensors = [awkward(shape, dtype) for shape in SHAPES]
    function = tf.function(lambda x: tf.reshape(x, tf.shape(x), name="watched"))
    with tb_debugger_plugin.record(tmp_path, mode):
        for tensor in tensors:
            function(tensor)
            tf.reshape(tensor, tf.shape(tensor))
    recorded = read(tmp_path)
    spec = TensorDebugMode[mode]
    expected = [
        Summary(spec, twin.summarize(tensor.numpy(), dtype.as_datatype_enum, spec, -1)) for tensor in tensors
    ]
    assert recorded.eager("Reshape") == expected
    watched = recorded.traces_of("watched")
    assert [trace.without_id for trace in watched] == [each.without_id for each in expected]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_full_numerics_are_numpys(tmp_path: Path, dtype: tf.DType) -> None:
    random = np.random.default_rng(0)
    tensors = [
        tf.constant(random.normal(5, 3, [70, 91]), dtype),
        tf.constant([1.5, np.nan, -2.0, np.inf, -0.0], dtype),
        tf.constant([np.nan, -np.inf], dtype),
        tf.constant([], dtype),
        smallest_denormals(dtype),
    ]
    function = tf.function(lambda x: tf.reshape(x, tf.shape(x), name="watched"))
    with tb_debugger_plugin.record(tmp_path, "FULL_NUMERICS"):
        for tensor in tensors:
            function(tensor)
            tf.reshape(tensor, tf.shape(tensor))
    recorded = read(tmp_path)
    for actual in (recorded.traces_of("watched"), recorded.eager("Reshape")):
        assert len(actual) == len(tensors)
        for each, tensor in zip(actual, tensors, strict=True):
            assert each.counts == counts(tensor)
            np.testing.assert_allclose(each.numbers(*MOMENTS), moments(tensor.numpy()), rtol=1e-12)


OTHERS = [tf.complex64, tf.complex128, tf.dtypes.experimental.float8_e5m2]
COMPLEX = [1 + 2j, complex(np.nan, 1), complex(0, -np.inf), 0, -1j, complex(3, np.inf)]


@pytest.mark.parametrize("mode", ["CURT_HEALTH", "CONCISE_HEALTH", "FULL_HEALTH", "FULL_NUMERICS"])
def test_complex_and_one_byte_tensors_have_the_twins_numbers(tmp_path: Path, mode: str) -> None:
    tensors = [tf.constant(COMPLEX, tf.complex64), tf.constant(COMPLEX, tf.complex128)]
    tensors.append(tf.cast(tf.constant([1.0, np.nan, -np.inf, -0.25, 0.0]), OTHERS[2]))
    with tb_debugger_plugin.record(tmp_path, mode):
        for tensor in tensors:
            tf.function(lambda x: tf.identity_n([x], name="watched"))(tensor)
            tf.identity_n([tensor])
    spec = TensorDebugMode[mode]
    expected = [
        Summary(spec, twin.summarize(tensor.numpy(), tensor.dtype.as_datatype_enum, spec, -1)).without_id
        for tensor in tensors
    ]
    recorded = read(tmp_path)
    for actual in (recorded.traces_of("watched"), recorded.eager("IdentityN")):
        np.testing.assert_array_equal(np.array([each.without_id for each in actual]), np.array(expected))


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


def smallest_denormals(dtype: tf.DType) -> tf.Tensor:
    """They are zero to the threads of TensorFlow, which flush them."""
    return tf.constant(np.array([1, 3], f"uint{8 * dtype.size}").view(dtype.as_numpy_dtype), dtype)


def moments(array: np.ndarray[Any, Any]) -> list[float]:
    """What FULL_NUMERICS adds."""
    finite = array.astype(np.float64)[np.isfinite(array)]
    return [finite.min(), finite.max(), finite.mean(), finite.var()] if finite.size else [np.nan] * 4


@pytest.mark.parametrize(
    "options",
    [{"tensor_debug_mode": "FULL_NUMERICS"}, {"every_n_steps": 2}, {"step_range": (1, None)}],
    ids=str,
)
def test_what_only_the_native_library_can_is_refused_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
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
    traces = [event.graph_execution_trace for event in recorded.events["graph_execution_traces"]]
    protos = [trace.tensor_proto for trace in traces if trace.op_name == "neg"]
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


@pytest.mark.parametrize(
    "value",
    [np.arange(6, dtype=np.int16).reshape(2, 3), np.array([True, False]), np.array(2.5), np.array([1 + 2j])],
    ids=["int16", "bool", "float64", "complex128"],
)
def test_full_tensor_mode_keeps_the_value(tmp_path: Path, value: Any) -> None:
    with tb_debugger_plugin.record(tmp_path, "FULL_TENSOR"):
        tf.function(lambda x: tf.stack([x, x], name="stack"))(value)
        tf.stack([value, value])
    (proto,) = (
        event.graph_execution_trace.tensor_proto
        for event in read(tmp_path).events["graph_execution_traces"]
        if event.graph_execution_trace.op_name == "stack"
    )
    stock = tf.make_tensor_proto(0)
    stock.ParseFromString(proto.SerializeToString())
    np.testing.assert_array_equal(tf.make_ndarray(stock), np.stack([value, value]))


def test_full_tensor_mode_keeps_strings(tmp_path: Path) -> None:
    words = [b"", b"short", b"long enough to stand on the heap, not in the element", b"\x00\xff"]
    with tb_debugger_plugin.record(tmp_path, "FULL_TENSOR"):
        tf.function(lambda x: tf.strings.join([x, x], name="join"))(tf.constant(words))
    (proto,) = (
        event.graph_execution_trace.tensor_proto
        for event in read(tmp_path).events["graph_execution_traces"]
        if event.graph_execution_trace.op_name == "join"
    )
    assert list(proto.string_val) == [word + word for word in words]


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
    traces = [event.graph_execution_trace for event in recorded.events["graph_execution_traces"]]
    in_graphs = [trace.tensor_proto for trace in traces if trace.op_name == "watched"]
    eager = [e.tensor_protos[0] for e in recorded.executions if e.op_type == "IdentityN"]
    (table,) = (trace.tensor_proto for trace in traces if trace.op_name == "table")
    assert all(trace.tensor_debug_mode == TensorDebugMode.FULL_TENSOR for trace in traces)
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


def test_no_tensor_mode_tells_that_each_tensor_was_computed(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path, "NO_TENSOR"):
        tf.function(lambda x: tf.exp(x, name="exp"))(tf.ones([3]))
    assert read(tmp_path).of("exp") == [[]]
