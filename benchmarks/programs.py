"""The training steps that benchmarks record: programs of TensorFlow and Keras that know nothing of recorders.

Each function of :data:`STEPS` returns a step to call.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import tensorflow as tf

Step = Callable[[], tf.Tensor | np.ndarray]


def mlp() -> Step:
    """64-128-128-10, batch 32, Adam."""
    keras = tf.keras
    relu = {"activation": "relu"}
    model = keras.Sequential(
        [keras.layers.Dense(128, **relu), keras.layers.Dense(128, **relu), keras.layers.Dense(10)]
    )
    return _classifier(model, [32, 64], 10)


def cnn() -> Step:
    """Three blocks of convolution, batch norm, ReLU and pooling; batch 64 of 32 x 32 colour images."""
    layers = tf.keras.layers
    blocks: list[tf.keras.layers.Layer] = []
    for width in (32, 64, 128):
        blocks += [layers.Conv2D(width, 3, padding="same"), layers.BatchNormalization(), layers.ReLU()]
        blocks += [layers.MaxPooling2D()]
    model = tf.keras.Sequential([*blocks, layers.Flatten(), layers.Dense(10)])
    return _classifier(model, [64, 32, 32, 3], 10)


def gpt() -> Step:
    """Four transformer layers of width 128 with 4 heads; batch 16 of 64 tokens, Adam."""
    layers = tf.keras.layers
    tokens, width, vocabulary = 64, 128, 256
    inputs = tf.keras.Input([tokens], dtype="int32")
    x = layers.Embedding(vocabulary, width)(inputs)
    for _ in range(4):
        y = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(4, width // 4)(y, y, use_causal_mask=True)
        y = layers.LayerNormalization()(x)
        x = x + layers.Dense(width)(layers.Dense(4 * width, activation="gelu")(y))
    model = tf.keras.Model(inputs, layers.Dense(vocabulary)(layers.LayerNormalization()(x)))
    text = tf.constant(np.random.default_rng(0).integers(0, vocabulary, [16, tokens]), tf.int32)
    return _training(model, text, text)


def wide() -> Step:
    """An MLP of four layers of width 2048: 17 million parameters, batch 64, Adam."""
    layers = [tf.keras.layers.Dense(2048, activation="relu") for _ in range(4)]
    return _classifier(tf.keras.Sequential([*layers, tf.keras.layers.Dense(10)]), [64, 2048], 10)


def eager() -> Step:
    """Four layers of width 64 with a tape, without any function."""
    weights = [tf.Variable(tf.random.stateless_normal([64, 64], [0, i]) * 0.1) for i in range(4)]
    x = tf.random.stateless_normal([32, 64], [1, 1])

    def step() -> tf.Tensor:
        with tf.GradientTape() as tape:
            y = x
            for weight in weights:
                y = tf.nn.relu(y @ weight)
            loss = tf.reduce_mean(y * y)
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(0.01 * gradient)
        return loss

    return step


def example() -> Step:
    """A training step of the example with the known bug, without the bug."""
    from tb_debugger_plugin.examples import buggy_digits

    tf.random.set_seed(buggy_digits.SEED)
    images, labels = buggy_digits.digits()
    images, labels = images[: buggy_digits.BATCH], labels[: buggy_digits.BATCH]
    model = buggy_digits.Classifier()
    optimizer = buggy_digits.Adam(model.trainable_variables)

    def step() -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = buggy_digits.cross_entropy(model(images), labels, clip=True)
        optimizer.apply(tape.gradient(loss, model.trainable_variables))
        return loss

    return step


def mlp_xla() -> Step:
    """`mlp`, compiled by XLA."""
    return _compiled(mlp)


def gpt_xla() -> Step:
    """`gpt`, compiled by XLA."""
    return _compiled(gpt)


def wide_xla() -> Step:
    """`wide`, compiled by XLA."""
    return _compiled(wide)


def session(batch: int = 32, made: list[tf.compat.v1.Session] | None = None) -> Step:
    """The step of a session of TF1: 64-128-128-10, Adam. The session is made in the first step.

    Args:
      batch: The number of examples of each step.
      made: Gets the session.
    """
    sessions = [] if made is None else made
    v1 = tf.compat.v1
    random = np.random.default_rng(0)
    with v1.Graph().as_default() as graph:
        x = tf.constant(random.normal(size=[batch, 64]), tf.float32)
        y = tf.constant(random.integers(0, 10, batch))
        sizes = [64, 128, 128, 10]
        for number, (rows, columns) in enumerate(itertools.pairwise(sizes)):
            weight = v1.get_variable(f"weight_{number}", [rows, columns], use_resource=True)
            bias = v1.get_variable(f"bias_{number}", [columns], use_resource=True)
            x = x @ weight + bias
            x = tf.nn.relu(x) if columns > 10 else x
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, x))
        train = v1.train.AdamOptimizer().minimize(loss)
        initializer = v1.global_variables_initializer()

    def step() -> np.ndarray:
        if not sessions:
            sessions.append(v1.Session(graph=graph))
            sessions[0].run(initializer)
        return sessions[0].run([loss, train])[0]

    return step


STEPS: dict[str, Callable[[], Step]] = {
    f.__name__: f for f in (example, mlp, cnn, gpt, wide, eager, mlp_xla, gpt_xla, wide_xla, session)
}
#: Whether XLA compiles steps made from now on.
_jit_compile = False


def _compiled(make: Callable[[], Step]) -> Step:
    global _jit_compile
    _jit_compile = True
    return make()


def _classifier(model: tf.keras.Model, shape: list[int], classes: int) -> Step:
    random = np.random.default_rng(0)
    x = tf.constant(random.normal(size=shape), tf.float32)
    return _training(model, x, tf.constant(random.integers(0, classes, shape[:1])))


def _training(model: tf.keras.Model, x: tf.Tensor, y: tf.Tensor) -> Step:
    optimizer = tf.keras.optimizers.Adam()
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model(x)
    optimizer.build(model.trainable_variables)

    @tf.function(jit_compile=_jit_compile)
    def step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
        )
        return loss

    return lambda: step(x, y)
