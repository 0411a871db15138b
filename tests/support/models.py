"""Small models of three kinds, each with a training that can be repeated and compared bit by bit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import tensorflow as tf

SEED = 3
#: A model, its inputs and its labels, and what makes them.
Made: TypeAlias = tuple[tf.keras.Model, tf.Tensor, tf.Tensor]
Maker: TypeAlias = Callable[[], Made]


class Training:
    """A model, its optimizer and one batch; every `run` starts from the same weights.

    Args:
      make: Returns a model, its inputs and its labels.
    """

    def __init__(self, make: Maker) -> None:
        tf.keras.utils.set_random_seed(SEED)
        self._model, self._x, self._y = make()
        self._model(self._x)
        self._optimizer = tf.keras.optimizers.Adam()
        self._optimizer.build(self._model.trainable_variables)
        self._loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self._variables = [*self._model.variables, *self._optimizer.variables]
        self._start = [variable.numpy() for variable in self._variables]
        self._step = tf.function(self._one_step)

    def run(self, steps: int = 4) -> str:
        """Runs some steps and returns a fingerprint of all variables."""
        for variable, value in zip(self._variables, self._start, strict=True):
            variable.assign(value)
        for _ in range(steps):
            self._step()
        return hashlib.sha256(
            b"".join(variable.numpy().tobytes() for variable in self._variables)
        ).hexdigest()

    def _one_step(self) -> None:
        variables = self._model.trainable_variables
        with tf.GradientTape() as tape:
            loss = self._loss(self._y, self._model(self._x, training=True))
        self._optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))


def mlp() -> Made:
    """64-128-128-10."""
    dense = tf.keras.layers.Dense
    model = tf.keras.Sequential([dense(128, activation="relu"), dense(128, activation="relu"), dense(10)])
    return model, _normal([32, 64]), _integers(10, [32])


def cnn() -> Made:
    """Two blocks of convolution, batch norm, ReLU and pooling."""
    return _cnn([8, 16], [16, 16, 16, 3])


def full_cnn() -> Made:
    """The CNN of the benchmarks: three blocks, 64 images of 32 x 32."""
    return _cnn([32, 64, 128], [64, 32, 32, 3])


def gpt() -> Made:
    """A transformer layer."""
    return _gpt(layers=1, width=32, vocabulary=64, text=[8, 16])


def full_gpt() -> Made:
    """The transformer of the benchmarks: four layers of 128, 16 texts of 64 tokens."""
    return _gpt(layers=4, width=128, vocabulary=256, text=[16, 64])


def dropout_model(optimizer: str, **options: object) -> tf.keras.Model:
    """A small model whose training draws random numbers, compiled."""
    tf.keras.utils.set_random_seed(1)
    layers = [
        tf.keras.layers.Dense(4, activation="relu"),
        tf.keras.layers.Dropout(0.5),
        tf.keras.layers.Dense(2),
    ]
    model = tf.keras.Sequential([tf.keras.Input([3]), *layers])
    model.compile(optimizer, "mse", **options)
    return model


def _cnn(widths: list[int], images: list[int]) -> Made:
    layers = tf.keras.layers
    blocks: list[tf.keras.layers.Layer] = []
    for width in widths:
        blocks += [layers.Conv2D(width, 3, padding="same"), layers.BatchNormalization(), layers.ReLU()]
        blocks += [layers.MaxPooling2D()]
    model = tf.keras.Sequential([*blocks, layers.Flatten(), layers.Dense(10)])
    return model, _normal(images), _integers(10, images[:1])


def _gpt(layers: int, width: int, vocabulary: int, text: list[int]) -> Made:
    keras = tf.keras.layers
    inputs = tf.keras.Input(text[1:], dtype="int32")
    x = keras.Embedding(vocabulary, width)(inputs)
    for _ in range(layers):
        y = keras.LayerNormalization()(x)
        x = x + keras.MultiHeadAttention(4, width // 4)(y, y, use_causal_mask=True)
        y = keras.LayerNormalization()(x)
        x = x + keras.Dense(width)(keras.Dense(4 * width, activation="gelu")(y))
    model = tf.keras.Model(inputs, keras.Dense(vocabulary)(keras.LayerNormalization()(x)))
    tokens = _integers(vocabulary, text)
    return model, tokens, tokens


def _normal(shape: list[int]) -> tf.Tensor:
    return tf.constant(np.random.default_rng(SEED).normal(size=shape), tf.float32)


def _integers(below: int, shape: list[int]) -> tf.Tensor:
    return tf.constant(np.random.default_rng(SEED).integers(0, below, shape), tf.int32)
