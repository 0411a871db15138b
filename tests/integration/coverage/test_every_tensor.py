"""`capture/plan`: every floating tensor of a graph is recorded with the numbers of its fetched value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tests.support.fetched import fetched, without_graph_optimization
from tests.support.recorded import Trace, counts, read

pytestmark = pytest.mark.tensorflow

X = np.array([0.0, 0.5, -2.0, np.inf], np.float32)
SQUARE = np.array([[1.0, -2.0], [0.0, 3.0]], np.float32)


def ragged(values: tf.Tensor) -> tf.Tensor:
    rows = tf.RaggedTensor.from_row_lengths(values, [1, 0, 3])
    return tf.reduce_sum(tf.exp(rows) * 2.0, axis=1) + rows.to_tensor(default_value=1.0)[:, 0]


def sparse(matrix: tf.Tensor) -> tf.Tensor:
    stored = tf.sparse.reorder(tf.sparse.add(tf.sparse.from_dense(matrix), tf.sparse.from_dense(matrix)))
    roots = tf.sparse.map_values(tf.sqrt, stored)
    shares = tf.sparse.reduce_sum(tf.sparse.softmax(stored), 1)
    return tf.sparse.sparse_dense_matmul(roots, matrix) + tf.sparse.to_dense(roots) + shares


TABLE = tf.Variable([[1.0, -1.0], [0.0, np.nan]])


def resources(x: tf.Tensor) -> tf.Tensor:
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([0, 1], [0.5, np.inf]), -1.0)
    return tf.gather(TABLE, [1, 0]) * table.lookup(tf.constant([0, 5])) + tf.reduce_min(x)


def variants(x: tf.Tensor) -> tf.Tensor:
    written = tf.TensorArray(tf.float32, 2, element_shape=[4]).unstack([x, x * 2.0])
    total = written.read(1)
    for element in tf.data.Dataset.from_tensors(x).map(lambda value: value - 1.0):
        total += element
    return total / written.stack()


def python_functions(x: tf.Tensor) -> tf.Tensor:
    eager = tf.py_function(lambda value: tf.math.log(value), [x], tf.float32)
    return eager + tf.numpy_function(np.abs, [x], tf.float32)


@tf.custom_gradient
def clipped(x: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
    return tf.exp(x), lambda upstream: tf.clip_by_value(upstream / x, -1.0, 1.0)


def custom_gradient(x: tf.Tensor) -> tf.Tensor:
    return tf.gradients(clipped(x) * 3.0, x)[0]


def recompute_grad(x: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.recompute_grad(lambda value: tf.sinh(tf.tanh(value)))(x)
    return tape.gradient(y, x)


def second_derivative(x: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape(persistent=True) as inner:
            inner.watch(x)
            y = tf.sqrt(x) * tf.sin(x)
        first = inner.gradient(y, x)
    return outer.gradient(first, x)


def jacobian(x: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.math.cumsum(tf.math.log(x))
    return tape.jacobian(y, x)


def jvp(x: tf.Tensor) -> tf.Tensor:
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as forward:
        y = tf.math.rsqrt(x) * x
    return forward.jvp(y) + y


def vectorized_map(matrix: tf.Tensor) -> tf.Tensor:
    return tf.vectorized_map(lambda row: tf.math.divide(1.0, row) + tf.reduce_max(row), matrix)


def dtypes(x: tf.Tensor) -> tf.Tensor:
    sums = [
        tf.cast(tf.math.log(tf.cast(x, dtype)), tf.float32) for dtype in ("float16", "bfloat16", "float64")
    ]
    waves = tf.abs(tf.signal.fft(tf.exp(tf.complex(tf.zeros_like(x), x))))
    bits = tf.bitwise.bitwise_and(tf.cast(tf.math.is_finite(x), tf.uint8), 1)
    fake = tf.quantization.fake_quant_with_min_max_args(x)
    return tf.add_n(sums) + waves + fake + tf.cast(bits, tf.float32)


def many_results(matrix: tf.Tensor) -> list[tf.Tensor]:
    s, u, v = tf.linalg.svd(matrix)
    top, _ = tf.math.top_k(tf.unstack(matrix)[0], 1)
    mean, variance = tf.nn.moments(matrix, [0])
    return [s, u @ v, top, tf.split(matrix, 2)[1], mean * variance]


def printed_and_asserted(x: tf.Tensor) -> tf.Tensor:
    tf.debugging.assert_rank(x, 1)
    tf.debugging.assert_less(tf.reduce_min(x), 1.0)
    return tf.strings.length(tf.strings.as_string(x)), tf.negative(x)


#: What it returns is a nest of tensors.
Program = Callable[[tf.Tensor], object]
PROGRAMS: list[tuple[Program, np.ndarray, set[str]]] = [
    (ragged, X, {"Exp", "UnsortedSegmentSum"}),
    (sparse, SQUARE, {"Sqrt", "SparseTensorDenseMatMul", "GatherNd"}),
    (resources, X, {"ResourceGather", "LookupTableFindV2", "Min"}),
    (variants, X, {"TensorListGetItem", "TensorListStack", "RealDiv"}),
    (python_functions, X, {"EagerPyFunc", "PyFunc"}),
    (custom_gradient, X, {"RealDiv", "Minimum", "Maximum"}),
    (recompute_grad, X, {"Cosh", "TanhGrad"}),
    (second_derivative, X, {"SqrtGrad", "Cos"}),
    (jacobian, X, {"Reciprocal", "Cumsum"}),
    (jvp, X, {"Rsqrt", "PartitionedCall"}),
    (vectorized_map, SQUARE, {"RealDiv", "Max"}),
    (dtypes, X, {"Log", "ComplexAbs"}),
    (many_results, SQUARE, {"Svd", "TopKV2", "Unpack", "Split"}),
    (printed_and_asserted, X, {"Neg", "Min"}),
]


def values_of(traces: list[Trace]) -> dict[tuple[str, int], list[float]]:
    assert len({(trace.op_name, trace.slot) for trace in traces}) == len(traces)
    return {(trace.op_name, trace.slot): trace.counts for trace in traces}


@pytest.mark.parametrize(("program", "argument", "types"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_every_tensor_of_a_graph_is_recorded_as_it_is_fetched(
    tmp_path: Path, program: Program, argument: np.ndarray, types: set[str]
) -> None:
    with without_graph_optimization():
        plain = tf.nest.map_structure(np.asarray, tf.function(program)(tf.constant(argument)))
    function = tf.function(program)
    with tb_debugger_plugin.record(tmp_path) as recording:
        result = function(tf.constant(argument))
        assert recording.on
    tf.nest.map_structure(np.testing.assert_array_equal, result, plain)
    concrete = function.get_concrete_function(tf.TensorSpec(argument.shape, argument.dtype))
    recorded = read(tmp_path)
    own = [trace for trace in recorded.traces if trace.function == concrete.graph.name]
    assert types <= {trace.op_type for trace in own}
    expected = {name: counts(value) for name, value in fetched(concrete, argument).items()}
    assert values_of(own) == expected
