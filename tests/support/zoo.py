"""Real programs of many kinds, for the census of their records.

Each program is a function without arguments that makes its TensorFlow functions anew, runs them and returns
something. Each is recorded alone, because not all names of graphs show the program to which they belong.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1

Program: TypeAlias = "Callable[[], object]"
PROGRAMS: dict[str, Program] = {}


def _program(program: Program) -> Program:
    PROGRAMS[program.__name__] = program
    return program


def _gradient(
    function: Callable[..., tf.Tensor], *arguments: tf.Tensor
) -> tuple[tf.Tensor, list[tf.Tensor | None]]:
    """Returns the values and gradients of a function, with a tape around it."""
    watched = [argument for argument in arguments if argument.dtype.is_floating]
    with tf.GradientTape() as tape:
        tape.watch(watched)
        result = function(*arguments)
    return result, tape.gradient(result, watched)


def _square() -> tf.Tensor:
    return tf.constant([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])


@_program
def loops() -> object:
    @tf.function
    def loops(x: tf.Tensor) -> object:
        for i in tf.range(4):
            if tf.reduce_sum(x) > 20.0:
                break
            if i % 2 == 0:
                continue
            x = tf.sin(x) + tf.cast(i, tf.float32)
        while tf.reduce_all(x < 10.0):
            x *= 1.5
        return x

    return _gradient(loops, tf.ones([3]))


@_program
def bounded_loop_with_its_gradient_inside() -> object:
    @tf.function
    def bounded_loop(x: tf.Tensor) -> object:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.while_loop(
                lambda i, y: tf.reduce_sum(y) < 100.0,
                lambda i, y: (i + 1, tf.exp(y / 10.0) * y),
                (tf.constant(0), x),
                maximum_iterations=5,
            )[1]
        return tape.gradient(y, x)

    return bounded_loop(tf.ones([2]))


@_program
def branches() -> object:
    @tf.function
    def branches(x: tf.Tensor, which: tf.Tensor) -> object:
        y = tf.cond(
            tf.reduce_sum(x) > 0.0,
            lambda: tf.while_loop(lambda z: tf.reduce_sum(z) < 9.0, lambda z: (tf.square(z) + 1.0,), (x,))[0],
            lambda: tf.exp(x),
        )
        return tf.switch_case(which, [lambda: tf.sin(y), lambda: tf.cos(y), lambda: tf.tan(y)])

    return [_gradient(branches, tf.ones([2]) * (i - 1), tf.constant(i)) for i in range(3)]


@_program
def maps_and_scans() -> object:
    @tf.function
    def maps_and_scans(x: tf.Tensor) -> object:
        mapped = tf.map_fn(lambda row: tf.nn.softmax(row), x)
        scanned = tf.scan(lambda total, row: total + tf.square(row), mapped)
        folded = tf.foldl(lambda total, row: total * tf.reduce_sum(row), scanned, initializer=1.0)
        return tf.foldr(lambda total, row: total + tf.reduce_max(row), x, initializer=folded)

    return _gradient(maps_and_scans, tf.ones([3, 2]))


@_program
def vectorized() -> object:
    @tf.function
    def vectorized(x: tf.Tensor) -> object:
        return tf.vectorized_map(
            lambda row: tf.cond(row[0] > 0.0, lambda: tf.sin(row), lambda: tf.exp(row)), x
        )

    return _gradient(vectorized, tf.constant([[1.0, 2.0], [-1.0, 2.0]]))


@_program
def forward_accumulator() -> object:
    function = tf.function(lambda x: tf.tanh(x) * tf.sin(x))
    x = tf.constant([0.5, 1.0])
    with tf.autodiff.ForwardAccumulator(x, tf.ones([2])) as accumulator:
        y = function(x)
    return y, accumulator.jvp(y)


@_program
def hessian_by_tapes() -> object:
    function = tf.function(lambda x: tf.reduce_sum(tf.exp(x) * tf.sin(x)))
    x = tf.constant([0.5, 1.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = function(x)
        first = inner.gradient(y, x)
    return outer.gradient(first, x)


@_program
def recurrent_layers() -> object:
    tf.keras.utils.set_random_seed(1)
    lstm = tf.keras.layers.LSTM(3, return_sequences=True, name="lstm")
    gru = tf.keras.layers.GRU(2, go_backwards=True, name="gru")

    @tf.function
    def recurrent(x: tf.Tensor, mask: tf.Tensor) -> object:
        return gru(lstm(x, mask=mask), mask=mask)

    x, mask = tf.ones([2, 3, 2]), tf.constant([[True, True, False], [True, False, False]])
    recurrent(x, mask)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(recurrent(x, mask))
    return tape.gradient(y, [*lstm.trainable_variables, *gru.trainable_variables])


@_program
def convolutional_training() -> object:
    tf.keras.utils.set_random_seed(1)
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Conv2D(4, 3, name="conv"),
            tf.keras.layers.BatchNormalization(name="norm"),
            tf.keras.layers.GlobalAveragePooling2D(name="pool"),
            tf.keras.layers.Dropout(0.5, name="dropout"),
            tf.keras.layers.Dense(3, activation="relu", name="dense"),
        ],
        name="model",
    )
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    x, y = np.ones([4, 6, 6, 1], np.float32), np.array([0, 1, 2, 0])
    return model.fit(x, y, batch_size=2, verbose=0).history


@_program
def diagonals() -> object:
    scale = tf.Variable(1.0, dtype=tf.float64)
    x = tf.cast(tf.linspace(0.0, 1.0, 6), tf.float64)[:, None]

    @tf.function
    def diagonals() -> object:
        with tf.GradientTape() as tape:
            kernel = tf.exp(-scale * tf.square(x - tf.transpose(x)))
            kernel = tf.linalg.set_diag(kernel, tf.linalg.diag_part(kernel) + 0.1)
            loss = tf.reduce_sum(tf.linalg.cholesky(kernel))
        return loss, tape.gradient(loss, scale)

    return diagonals()


@_program
def decompositions() -> object:
    @tf.function
    def decompositions(a: tf.Tensor) -> object:
        values, left, right = tf.linalg.svd(a)
        q, r = tf.linalg.qr(a)
        lower = tf.linalg.cholesky(a)
        solved = tf.linalg.triangular_solve(lower, tf.linalg.inv(a))
        eigenvalues, _ = tf.linalg.eigh(a)
        parts = [values, left @ right, q @ r, solved, eigenvalues, tf.linalg.logdet(a)]
        return tf.add_n([tf.reduce_sum(part) for part in parts])

    lu, _ = tf.linalg.lu(_square())
    return _gradient(decompositions, _square()), lu


@_program
def ragged() -> object:
    @tf.function
    def ragged(x: tf.RaggedTensor) -> object:
        y = tf.ragged.map_flat_values(tf.sqrt, x)
        rows = tf.map_fn(tf.reduce_sum, y, fn_output_signature=tf.TensorSpec([], tf.float32))
        again = tf.map_fn(
            lambda row: row * 2.0, y, fn_output_signature=tf.RaggedTensorSpec([None], tf.float32, 0)
        )
        return tf.reduce_mean(again, axis=1) + rows, tf.concat([x, again], axis=1).to_tensor()

    return ragged(tf.ragged.constant([[1.0, 4.0], [9.0], [16.0, 25.0, 36.0]]))


@_program
def strings() -> object:
    @tf.function
    def strings(lines: tf.Tensor) -> object:
        words = tf.strings.split(lines)
        joined = tf.strings.reduce_join(words, axis=-1, separator="-")
        numbers = tf.strings.to_number(tf.strings.regex_replace(joined, r"[^0-9]+", ""))
        for line in lines:
            joined = tf.strings.join([joined, line])
        return joined, numbers, tf.strings.as_string(numbers)

    return strings(tf.constant(["a 1", "b 2 3"]))


@_program
def tables_and_queues() -> object:
    keys, values = tf.constant(["a", "b"]), tf.constant([1.0, 2.0])
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1.0)
    growing = tf.lookup.experimental.MutableHashTable(tf.string, tf.float32, 0.0)
    total = tf.Variable(tf.zeros([2]))
    queue = tf.queue.FIFOQueue(4, [tf.float32], [[2]])

    @tf.function
    def tables_and_queues(words: tf.Tensor) -> object:
        actual = table.lookup(words)
        growing.insert(words, actual)
        queue.enqueue(actual)
        total.assign_add(queue.dequeue() * growing.lookup(words))
        total.scatter_nd_add([[0]], [3.0])
        return total.read_value(), growing.export()

    return tables_and_queues(tf.constant(["b", "c"]))


@_program
def arrays() -> object:
    @tf.function
    def arrays(x: tf.Tensor) -> object:
        written = tf.TensorArray(tf.float32, 0, dynamic_size=True, clear_after_read=False)
        for i in tf.range(3):
            written = written.write(i, x * tf.cast(i, tf.float32))
        items = []
        for i in range(2):
            items.append(written.read(i))
        return tf.reduce_sum(written.stack()) + tf.add_n(items)

    return _gradient(arrays, tf.ones([2]))


@_program
def pipelines() -> object:
    factor = tf.Variable(2.0)

    @tf.function
    def scaled(x: tf.Tensor) -> object:
        return tf.sqrt(x) * factor

    data = tf.data.Dataset.range(6).map(lambda i: tf.cast(i, tf.float32)).map(scaled, num_parallel_calls=2)
    data = data.filter(lambda x: x > 1.0)
    data = data.interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(2), cycle_length=2)

    def one_more(x: tf.Tensor) -> object:
        return x + 1.0

    data = data.batch(2).map(lambda x: tf.py_function(one_more, [x], tf.float32))

    @tf.function
    def pipelines() -> object:
        total = tf.constant(0.0)
        for batch in data:
            total += tf.reduce_sum(batch)
        return total

    return pipelines(), data.reduce(0.0, lambda total, x: total + tf.reduce_max(x))


@_program
def custom_gradients() -> object:
    @tf.custom_gradient
    def clipped(x: tf.Tensor) -> object:
        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            return tf.clip_by_norm(upstream, 0.5)

        return tf.math.log1p(x), gradient

    weight = tf.Variable(3.0)

    @tf.recompute_grad
    def again(x: tf.Tensor) -> object:
        return tf.sin(x) * tf.exp(x) * weight

    @tf.function
    def custom_gradients(x: tf.Tensor) -> object:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.stop_gradient(clipped(x)) + again(clipped(x))
        return y, tape.gradient(y, x)

    return custom_gradients(tf.ones([2])), _gradient(tf.function(clipped), tf.ones([2]))


@_program
def signals_and_sequences() -> object:
    @tf.function
    def signals(x: tf.Tensor) -> object:
        spectrum = tf.signal.rfft(x)
        labels, lengths = tf.constant([[1, 2]]), tf.constant([2])
        loss = tf.nn.ctc_loss(labels, x[None, :, None] * tf.ones([1, 8, 4]), lengths, tf.constant([8]), False)
        return tf.abs(spectrum), loss, tf.einsum("i,j->ij", x, x)

    return signals(tf.range(8.0))


@_program
def effects() -> object:
    @tf.function
    def effects(x: tf.Tensor) -> object:
        tf.debugging.assert_positive(x)
        tf.debugging.Assert(tf.reduce_all(x > 0.5), [x])
        with tf.control_dependencies([tf.print("x", x[0], output_stream="file:///dev/null")]):
            y = tf.identity(x)
        noise = tf.random.stateless_normal([2], [1, 2])
        kept, indices = tf.unique(tf.constant([1, 1, 2]))
        return y + noise, tf.image.resize(tf.ones([1, 2, 2, 1]), [3, 3]), kept, indices

    return effects(tf.ones([2]))


@_program
def wrapped() -> object:
    def doubled(x: tf.Tensor) -> object:
        y = tf.while_loop(lambda y: tf.reduce_sum(y) < 9.0, lambda y: (y * 2.0,), (x,))[0]
        return tf.exp(y, name="exp")

    wrapped = v1.wrap_function(doubled, [tf.TensorSpec([2])])
    return wrapped(tf.ones([2])), wrapped.prune(wrapped.inputs[0].name, "exp:0")(tf.ones([2]))


def _saved() -> tempfile.TemporaryDirectory[str]:
    model = tf.Module()
    model.weight = tf.Variable(2.0)

    @tf.function(input_signature=[tf.TensorSpec([2])])
    def doubled(x: tf.Tensor) -> object:
        return tf.while_loop(lambda y: tf.reduce_sum(y) < 9.0, lambda y: (y * model.weight,), (x,))[0]

    model.doubled = doubled
    folder = tempfile.TemporaryDirectory()
    tf.saved_model.save(model, folder.name)
    return folder


#: Saved before any recorder is enabled: TensorFlow's recorder would add its own ops to the model.
_SAVED = _saved()


@_program
def loaded() -> object:
    loaded = tf.saved_model.load(_SAVED.name)
    return _gradient(loaded.doubled, tf.ones([2]))


def _session() -> np.ndarray:
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [3], name="x")
        looped = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y)), (0, x))[1]
        result = tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.exp(looped), lambda: tf.exp(-looped))
        gradient = tf.gradients(result, x)[0]
        session.run([result, gradient], {x: [1.0, 2.0, 3.0]})
        return session.run(tf.sqrt(gradient), {x: [1.0, 2.0, 3.0]})


@_program
def session() -> object:
    return _session()


@_program
def session_of_old_control_flow() -> object:
    v1.disable_control_flow_v2()
    try:
        return _session()
    finally:
        v1.enable_control_flow_v2()
