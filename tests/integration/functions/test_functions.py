"""`capture/hooks/functions.py`: every form of `tf.function` is recorded with the values NumPy computes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin.events.messages import Message
from tb_debugger_plugin.events.modes import SUMMARY_COLUMNS, TensorDebugMode
from tests.support.recorded import Recorded, counts, read, summary

pytestmark = pytest.mark.tensorflow

Array = np.ndarray
X = np.array([1.0, -2.0, 3.0], np.float32)


def health(recorded: Recorded, ending: str) -> list[list[float]]:
    """The summaries of all tensors of ops with a name that ends so, in the order of their runs."""
    return [t.counts for t in recorded.traces if t.op_name.rpartition("/")[2] == ending]


def test_a_polymorphic_function_is_seen_in_each_of_its_graphs(tmp_path: Path) -> None:
    @tf.function
    def scaled(x: tf.Tensor, factor: object = 2.0) -> tf.Tensor:
        return tf.multiply(x, factor, name="scaled")

    arguments = [
        (X,),
        (X.astype(np.float64),),
        (np.float32(3.0), 0.5),
        (X.reshape(3, 1), np.float32(np.inf)),
        (X,),
    ]
    with tb_debugger_plugin.record(tmp_path):
        for argument in arguments:
            scaled(*argument)
    recorded = read(tmp_path)
    expected = [counts(value) for value in (X * 2, X * 2, 1.5, X * np.inf, X * 2)]
    assert health(recorded, "scaled") == expected
    graphs = [trace.graph_id for trace in recorded.traces if trace.op_name == "scaled"]
    assert graphs[4] == graphs[0]
    assert len(set(graphs)) == 4


def test_an_input_signature_gives_one_graph_for_all_shapes(tmp_path: Path) -> None:
    signature = [tf.TensorSpec([None, None]), {"bias": tf.TensorSpec([], tf.float32, name="bias")}]

    @tf.function(input_signature=signature)
    def sums(x: tf.Tensor, more: dict[str, tf.Tensor]) -> tf.Tensor:
        return tf.add(tf.reduce_sum(x, axis=1), more["bias"], name="sums")

    shapes = [(2, 3), (5, 1), (0, 4)]
    with tb_debugger_plugin.record(tmp_path):
        for shape in shapes:
            sums(tf.ones(shape), {"bias": tf.constant(-1.0)})
    recorded = read(tmp_path)
    assert health(recorded, "sums") == [counts(np.full(rows, columns - 1.0)) for rows, columns in shapes]
    assert len({trace.graph_id for trace in recorded.traces}) == 1


def test_methods_of_two_objects_are_seen_apart(tmp_path: Path) -> None:
    class Layer(tf.Module):
        def __init__(self, scale: float) -> None:
            self.weight = tf.Variable(X * scale)

        @tf.function
        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            return tf.multiply(x, self.weight, name="product")

        @tf.function
        def train(self, x: tf.Tensor) -> None:
            self.weight.assign_sub(tf.negative(x, name="step"))

    first, second = Layer(1.0), Layer(np.inf)
    with tb_debugger_plugin.record(tmp_path):
        first(X)
        second(X)
        first.train(X)
        first(X)
    np.testing.assert_array_equal(first.weight, 2 * X)
    recorded = read(tmp_path)
    assert health(recorded, "product") == [counts(X * X), counts(X * X * np.inf), counts(2 * X * X)]
    assert health(recorded, "step") == [counts(-X)]


def doubled(x: tf.Tensor) -> tf.Tensor:
    return tf.multiply(x, 2.0, name="watched")


def nested_loops(x: tf.Tensor) -> tf.Tensor:
    for i in tf.range(3):
        if i == 1:
            continue
        j = 0
        while tf.reduce_all(x < 100.0):
            x = doubled(x)
            j += 1
            if j > i:
                break
    return x


def loop_over_data(x: tf.Tensor) -> tf.Tensor:
    for element in tf.data.Dataset.range(3):
        x = doubled(x) + tf.cast(element, tf.float32)
    return x


LOOPS: dict[str, tuple[Callable[[tf.Tensor], tf.Tensor], list[Array]]] = {
    "nested_loops": (nested_loops, [X * 2, X * 4, X * 8, X * 16]),
    "loop_over_data": (loop_over_data, [X * 2, X * 4, X * 8 + 2]),
    "while_loop": (
        lambda x: tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, doubled(y)), (0, x))[1],
        [X * 2, X * 4],
    ),
    "cond": (lambda x: tf.cond(tf.reduce_any(x < 0), lambda: doubled(x), lambda: x), [X * 2]),
    "switch_case": (
        lambda x: tf.switch_case(tf.size(x) - 2, [lambda: x, lambda: doubled(-x), lambda: x * np.nan]),
        [X * -2],
    ),
    "map_fn": (lambda x: tf.map_fn(doubled, x, parallel_iterations=1), list(X * 2)),
    "scan": (lambda x: tf.scan(lambda a, b: doubled(a) + b, x), [X[0] * 2, (X[0] * 2 + X[1]) * 2]),
    "foldl": (lambda x: tf.foldl(lambda a, b: doubled(a) * b, x), [X[0] * 2, X[0] * 4 * X[1]]),
    "vectorized_map": (lambda x: tf.vectorized_map(doubled, x), [X * 2]),
}


@pytest.mark.parametrize("kind", LOOPS)
def test_each_run_of_a_loops_body_and_the_branch_taken_have_their_values_on_record(
    tmp_path: Path, kind: str
) -> None:
    program, expected = LOOPS[kind]
    plain = tf.function(program)(tf.constant(X))
    with tb_debugger_plugin.record(tmp_path):
        result = tf.function(program)(tf.constant(X))
    np.testing.assert_array_equal(result, plain)
    # `vectorized_map` makes another op of it, in whose name the old one stands.
    actual = [t for t in read(tmp_path).traces if t.op_type == "Mul" and "watched" in t.op_name]
    assert [trace.counts for trace in actual] == [counts(value) for value in expected]


@pytest.mark.parametrize("made", ["before", "meanwhile"])
def test_a_wrapped_graph_with_a_loop_is_seen_and_leaves_what_it_leaves_without_us(
    tmp_path: Path, made: str
) -> None:
    """TensorFlow adds the functions of such a graph to the runtime once more."""
    from tensorflow.python.eager import context

    def old(x: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(
            lambda y: tf.reduce_sum(y, name="sum") < 9.0, lambda y: (tf.multiply(y, 2.0, name="twice"),), (x,)
        )[0]

    def wrapped() -> tf.types.experimental.ConcreteFunction:
        return tf.compat.v1.wrap_function(old, [tf.TensorSpec([2])])

    def times_added(function: tf.types.experimental.ConcreteFunction) -> list[int]:
        runtime, counted = context.context(), []
        for name in function.graph._functions:
            definition, times = runtime.get_function_def(name), 0
            while runtime.has_function(name):
                runtime.remove_function(name)
                times += 1
            for _ in range(times):
                runtime.add_function_def(definition)
            counted.append(times)
        return counted

    plain = times_added(wrapped())
    assert plain == [2, 2]
    function = wrapped() if made == "before" else None
    with tb_debugger_plugin.record(tmp_path, "SHAPE") as recording:
        function = function or wrapped()
        np.testing.assert_array_equal(function(tf.ones([2])), [8.0, 8.0])
        assert recording.on
    recorded = read(tmp_path)
    names = [trace.op_name.rpartition("/")[2] for trace in recorded.traces]
    assert [names.count(name) for name in ("sum", "twice")] == [4, 3]
    np.testing.assert_array_equal(function(tf.ones([2])), [8.0, 8.0])
    assert times_added(function) == plain
    again = function.prune(function.inputs, function.outputs)  # the program's definitions, once more
    np.testing.assert_array_equal(again(tf.ones([2])), [[8.0, 8.0]])


def test_a_saved_model_is_seen_that_was_loaded_before_or_in_the_recording(tmp_path: Path) -> None:
    class Model(tf.Module):
        def __init__(self) -> None:
            self.weight = tf.Variable(X)

        @tf.function(input_signature=[tf.TensorSpec([3], name="x")])
        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            return tf.math.log(x * self.weight, name="log")

    model = Model()
    tf.saved_model.save(model, str(tmp_path / "model"), signatures=model.__call__)
    before = tf.saved_model.load(str(tmp_path / "model"))
    with tb_debugger_plugin.record(tmp_path / "log"):
        before(tf.constant(X))
        loaded = tf.saved_model.load(str(tmp_path / "model"))
        loaded(tf.constant([0.0, 0.0, 0.0]))
        loaded.signatures["serving_default"](x=tf.constant(-X))
        with tf.GradientTape() as tape:
            y = loaded(tf.constant(X))
        gradient = tape.gradient(y, loaded.weight)
    np.testing.assert_allclose(gradient, 1 / X, rtol=1e-6)
    recorded = read(tmp_path / "log")
    with np.errstate(all="ignore"):
        values = [X * X, X * 0, -X * X, X * X]
        assert health(recorded, "log") == [counts(np.log(value)) for value in values]


def pipeline(kind: str, f: Callable[[tf.Tensor], tf.Tensor]) -> tf.data.Dataset:
    data = tf.data.Dataset.from_tensor_slices(np.arange(6, dtype=np.float32))
    kinds: dict[str, Callable[[], tf.data.Dataset]] = {
        "parallel map": lambda: data.map(f, num_parallel_calls=2, deterministic=True),
        "autotuned": lambda: data.map(f, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE),
        "interleave": lambda: data.interleave(
            lambda x: tf.data.Dataset.from_tensors(f(x)), cycle_length=2, num_parallel_calls=2
        ),
        "filter": lambda: data.filter(lambda x: f(x) > -1.0),
        "batch": lambda: data.map(f).batch(2).cache().repeat(2),
        "flat_map": lambda: data.flat_map(lambda x: tf.data.Dataset.from_tensors(f(x))),
        "scan": lambda: data.scan(np.float32(0), lambda state, x: (state + x, f(x))),
    }
    return kinds[kind]()


@pytest.mark.parametrize(
    "kind", ["parallel map", "autotuned", "interleave", "filter", "batch", "flat_map", "scan"]
)
def test_every_element_that_passes_an_input_pipeline_is_seen(tmp_path: Path, kind: str) -> None:
    def inverse(x: tf.Tensor) -> tf.Tensor:
        return tf.divide(1.0, x, name="inverse")

    plain = list(pipeline(kind, inverse).as_numpy_iterator())
    with tb_debugger_plugin.record(tmp_path):
        elements = list(pipeline(kind, inverse).as_numpy_iterator())
    assert [element.tolist() for element in elements] == [element.tolist() for element in plain]
    with np.errstate(all="ignore"):
        expected = sorted(counts(1 / np.float32(x)) for x in range(6))
    # Threads of the pipeline finish in any order.
    assert sorted(health(read(tmp_path), "inverse")) == expected


MODES = ("FULL_TENSOR", "SHAPE", "FULL_HEALTH", "NO_TENSOR")


def dtype_of(mode: str, proto: Message) -> tf.DType | None:
    if mode == "NO_TENSOR":
        return None
    if mode == "FULL_TENSOR":
        return tf.as_dtype(proto.dtype)
    columns = SUMMARY_COLUMNS[TensorDebugMode[mode]]
    return tf.as_dtype(int(summary(proto)[columns.index("dtype")]))


def test_state_of_every_kind_is_neither_watched_nor_broken(tmp_path: Path) -> None:
    queue = tf.queue.FIFOQueue(3, [tf.float32], [[3]])
    generator, table = (
        tf.random.Generator.from_seed(1),
        tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, -1.0),
    )

    @tf.function
    def everything(x: tf.Tensor) -> tf.Tensor:
        queue.enqueue(x)
        table.insert(tf.constant([1], tf.int64), x[:1])
        total = queue.dequeue() + generator.normal([3]) + table.lookup(tf.constant([1], tf.int64))
        written = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        for i in tf.range(2):
            written = written.write(i, total)
        optional = tf.experimental.Optional.from_value(written.stack())
        return optional.get_value() if optional.has_value() else tf.zeros([2, 3])

    plain = everything(tf.constant(X)).numpy()
    generator.reset_from_seed(1)
    for mode in MODES:
        generator.reset_from_seed(1)
        with tb_debugger_plugin.record(tmp_path / mode, mode) as recording:
            np.testing.assert_array_equal(everything(tf.constant(X)), plain)
            assert recording.on
    for mode in MODES:
        events = read(tmp_path / mode).events["graph_execution_traces"]
        assert events
        for trace in (event.graph_execution_trace for event in events):
            dtype = dtype_of(mode, trace.tensor_proto)
            assert dtype not in (tf.resource, tf.variant), trace.op_name
