"""Programs that compute an infinity or NaN in one of their calls, for tests of GUARD."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial

import numpy as np
import tensorflow as tf

#: Begins and ends the recording of a program.
Recording = Callable[[], AbstractContextManager[object]]


def step_with_momentum(recording: Recording, **options: object) -> None:
    """A step that updates variables, with a logarithm of 0 in step 4."""
    weight = tf.Variable(tf.random.stateless_normal([4, 4], [0, 0]))
    momentum = tf.Variable(tf.zeros([4, 4]))

    @tf.function(**options)
    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            y = tf.nn.relu(x @ weight)
            loss = tf.reduce_mean(tf.math.log(tf.reduce_sum(y, 1) + x[:, 0]))
        momentum.assign_add(0.1 * (tape.gradient(loss, weight) - momentum))
        weight.assign_sub(0.01 * momentum)
        return loss

    with recording():
        for number in range(7):
            step(tf.zeros([4, 4]) if number == 4 else tf.ones([4, 4]))


def random_numbers(recording: Recording) -> None:
    """A logarithm of random numbers, some of them negative in call 3."""
    total = tf.Variable(0.0)

    @tf.function
    def draw(least: tf.Tensor) -> tf.Tensor:
        y = tf.math.log(tf.random.normal([100]) + least)
        total.assign_add(tf.reduce_mean(y))
        return tf.reduce_sum(y)

    with recording():
        for number in range(5):
            draw(tf.constant(0.5 if number == 3 else 10.0))


def nested_functions(recording: Recording) -> None:
    """A root of a negative number inside of a function that is called twice by a function that is called."""
    first, second = tf.Variable([1.0, 2.0]), tf.Variable([0.0, 0.0])

    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        first.assign_add(x)
        return tf.sqrt(first) + tf.random.uniform([2])

    @tf.function
    def middle(x: tf.Tensor) -> tf.Tensor:
        y = inner(x)
        second.assign(y * 2.0)
        return y

    @tf.function
    def outer(x: tf.Tensor) -> tf.Tensor:
        y = middle(x) + inner(x * 0.5)
        return tf.reduce_sum(tf.where(tf.math.is_nan(y), 0.0, y))

    with recording():
        for number in range(6):
            outer(tf.constant([-100.0, 0.0] if number == 4 else [1.0, 1.0]))


def tape_outside(recording: Recording, **options: object) -> None:
    """A training loop whose tape is outside of the function, so there is a backward function."""
    weight = tf.Variable(tf.ones([3, 3]))

    @tf.function(**options)
    def loss_of(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_mean(tf.math.log(x @ weight))

    with recording():
        for number in range(5):
            with tf.GradientTape() as tape:
                loss = loss_of(tf.ones([3, 3]) * (0.0 if number == 3 else 1.0))
            weight.assign_sub(0.1 * tape.gradient(loss, weight))


def gradient_outside(recording: Recording) -> None:
    """A root whose gradient at 0 is infinite; the call itself is good."""
    weight = tf.Variable([1.0, 2.0])

    @tf.function
    def norm_of(x: tf.Tensor) -> tf.Tensor:
        squares = tf.square(x * weight)
        return tf.sqrt(tf.reduce_sum(squares))

    with recording():
        for number in range(4):
            with tf.GradientTape() as tape:
                norm = norm_of(tf.zeros([2]) if number == 2 else tf.ones([2]))
            weight.assign_sub(0.1 * tape.gradient(norm, weight))


def gradient_of_a_choice(recording: Recording) -> None:
    """An exponential that overflows where another value is chosen: its gradient is NaN."""
    load = tf.Variable([0.5, 3.0, 120.0])

    @tf.function
    def penalty(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.where(x < 5.0, tf.exp(x), 30.0 * x))

    with recording():
        for _ in range(3):
            with tf.GradientTape() as tape:
                total = penalty(load)
            load.assign_sub(0.1 * tape.gradient(total, load))


def summary(recording: Recording) -> None:
    """A ratio of 0 / 0 that goes into a summary only."""

    @tf.function
    def step(hits: tf.Tensor, tries: tf.Tensor) -> tf.Tensor:
        with writer.as_default(step=1):
            tf.summary.scalar("rate", hits / tries)
        return hits + 1.0

    with tempfile.TemporaryDirectory() as folder:
        writer = tf.summary.create_file_writer(folder)
        with recording():
            for number in range(3):
                step(tf.constant(float(number)), tf.constant(float(number)))
        writer.close()


def printed(recording: Recording) -> None:
    """A ratio of 0 / 0 that is only printed."""

    @tf.function
    def step(hits: tf.Tensor, tries: tf.Tensor) -> tf.Tensor:
        tf.print("rate", hits / tries, output_stream="file:///dev/null")
        return hits + 1.0

    with recording():
        for number in range(3):
            step(tf.constant(float(number)), tf.constant(float(number)))


def compared(recording: Recording) -> None:
    """A ratio of 0 / 0 that is only compared and counted, in a function that is called."""

    @tf.function
    def most(hits: tf.Tensor, tries: tf.Tensor) -> tf.Tensor:
        rates = hits / tries
        return tf.cast(rates > 0.5, tf.int32), tf.argmax(rates)

    @tf.function
    def step(hits: tf.Tensor, tries: tf.Tensor) -> tf.Tensor:
        return most(hits, tries)

    with recording():
        for tries in ([2.0, 3.0], [1.0, 0.0], [4.0, 1.0]):
            step(tf.constant([1.0, 0.0]), tf.constant(tries))


def without_results(recording: Recording) -> None:
    """A function that only assigns, a logarithm of 0 in call 2."""
    level = tf.Variable([9.0, 9.0])

    @tf.function
    def drain(by: tf.Tensor) -> None:
        level.assign(tf.math.log(level - by))

    with recording():
        for number in range(4):
            level.assign([9.0, 9.0])
            drain(tf.constant(9.0 if number == 2 else 1.0))


def loop_that_draws(recording: Recording) -> None:
    """A loop with a branch, of which each turn draws random numbers; they are too small in call 2."""
    total = tf.Variable(0.0)

    @tf.function
    def walk(scale: tf.Tensor) -> tf.Tensor:
        least = tf.constant(1e9)
        for turn in tf.range(6):
            if turn % 2 == 0:
                least = tf.minimum(least, tf.random.uniform([]) * scale)
            else:
                least = tf.minimum(least, tf.random.uniform([]) * scale + 0.5)
        total.assign_add(tf.sqrt(least - 0.01))
        return least

    with recording():
        for number in range(4):
            walk(tf.constant(0.001 if number == 2 else 100.0))


def pipeline(recording: Recording) -> None:
    """A logarithm of 0 in a function of an input pipeline, in element 5 of 8."""
    total = tf.Variable(0.0)

    def logarithm(x: tf.Tensor) -> tf.Tensor:
        return tf.math.log(x)

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        total.assign_add(tf.reduce_sum(x))
        return total * 2.0

    with recording():
        data = tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 7.0, 8.0])
        for x in data.map(logarithm).batch(2):
            step(x)


def _batches() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    random = np.random.default_rng(0)
    for number in range(8):
        y = random.integers(0, 3, [16, 1])
        y[0] = 7 if number == 5 else y[0]
        yield random.normal(size=[16, 8]).astype(np.float32), y


def _loss(y_true: tf.Tensor, y_pred: tf.Tensor) -> tf.Tensor:
    labels = tf.cast(tf.reshape(y_true, [-1]), tf.int32)
    chosen = tf.gather(y_pred, tf.where(labels == 7, tf.zeros_like(labels), labels), batch_dims=1)
    is_wrong = tf.reduce_max(tf.cast(labels == 7, tf.float32))
    return -tf.reduce_mean(tf.math.log(chosen * (1.0 - is_wrong)))


def keras_model(**options: object) -> tf.keras.Model:
    """A classifier with batch normalization and dropout."""
    layers = tf.keras.layers
    tf.keras.utils.set_random_seed(0)
    model = tf.keras.Sequential(
        [
            tf.keras.Input([8]),
            layers.Dense(16, activation="relu"),
            layers.BatchNormalization(),
            layers.Dropout(0.3),
            layers.Dense(3, activation="softmax"),
        ]
    )
    model.compile("adam", _loss, **options)
    return model


def fit(recording: Recording, **options: object) -> None:
    """Training with Keras, with a logarithm of 0 in batch 5."""
    model = keras_model(**options)
    x, y = map(np.concatenate, zip(*_batches(), strict=True))
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
    with recording():
        model.fit(data, verbose=0)


PROGRAMS: dict[str, Callable[[Recording], None]] = {
    "step": step_with_momentum,
    "random": random_numbers,
    "nested": nested_functions,
    "tape": tape_outside,
    "gradient": gradient_outside,
    "choice": gradient_of_a_choice,
    "summary": summary,
    "printed": printed,
    "compared": compared,
    "no results": without_results,
    "loop": loop_that_draws,
    "pipeline": pipeline,
    "fit": fit,
    "several steps": partial(fit, steps_per_execution=4),
    "compiled step": partial(fit, jit_compile=True),
    "compiled function": partial(step_with_momentum, jit_compile=True),
    "tape, compiled": partial(tape_outside, jit_compile=True),
}
