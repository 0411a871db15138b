"""Small models of the three kinds whose bits are compared, each with a training that can be run again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

SEED = 3


class Training:
    """A model, its optimizer and one batch; every `run` starts from the same weights.

    Args:
      make: Gives a model, its inputs and its labels.
    """

    def __init__(self, make: Callable[[], tuple[Any, Any, Any]]) -> None:
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
        """A fingerprint of all variables after some steps."""
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


def mlp() -> tuple[Any, Any, Any]:
    """64-128-128-10."""
    dense = tf.keras.layers.Dense
    model = tf.keras.Sequential([dense(128, activation="relu"), dense(128, activation="relu"), dense(10)])
    return model, _normal([32, 64]), _integers(10, [32])


def cnn() -> tuple[Any, Any, Any]:
    """Two blocks of convolution, batch norm, ReLU and pooling."""
    layers = tf.keras.layers
    blocks: list[Any] = []
    for width in (8, 16):
        blocks += [layers.Conv2D(width, 3, padding="same"), layers.BatchNormalization(), layers.ReLU()]
        blocks += [layers.MaxPooling2D()]
    model = tf.keras.Sequential([*blocks, layers.Flatten(), layers.Dense(10)])
    return model, _normal([16, 16, 16, 3]), _integers(10, [16])


def gpt() -> tuple[Any, Any, Any]:
    """A transformer layer."""
    layers = tf.keras.layers
    tokens, width, vocabulary = 16, 32, 64
    inputs = tf.keras.Input([tokens], dtype="int32")
    x = layers.Embedding(vocabulary, width)(inputs)
    y = layers.LayerNormalization()(x)
    x = x + layers.MultiHeadAttention(4, width // 4)(y, y, use_causal_mask=True)
    y = layers.LayerNormalization()(x)
    x = x + layers.Dense(width)(layers.Dense(4 * width, activation="gelu")(y))
    model = tf.keras.Model(inputs, layers.Dense(vocabulary)(layers.LayerNormalization()(x)))
    text = _integers(vocabulary, [8, tokens])
    return model, text, text


def _normal(shape: list[int]) -> Any:
    return tf.constant(np.random.default_rng(SEED).normal(size=shape), tf.float32)


def _integers(below: int, shape: list[int]) -> Any:
    return tf.constant(np.random.default_rng(SEED).integers(0, below, shape), tf.int32)
