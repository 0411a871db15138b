"""Runs Python on the values of tensors, wherever the tensors are computed.

In eager mode the function runs at once. In a graph an op runs it each time. The result is the same tensors:
their bits and their gradients do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import tensorflow as tf

from tb_debugger_plugin.capture.stacks.frames import RecordedFrame, user_frame
from tb_debugger_plugin.capture.tf_types import Array
from tb_debugger_plugin.errors import NumericsError
from tb_debugger_plugin.techniques.places import noting, refuse_xla

#: Takes the values, in the order of the tensors.
Look: TypeAlias = Callable[[Sequence[Array]], object]
#: A condition: a function of the values, a boolean tensor, or None for always.
When: TypeAlias = "Callable[..., object] | tf.Tensor | None"


def observed(technique: str, tensors: Sequence[object], look: Look, when: When = None) -> list[tf.Tensor]:
    """Let a function look at tensors each time that they are computed.

    Args:
      technique: Name of the function that the program calls, for messages.
      tensors: The tensors, variables or values.
      look: The function. What it raises reaches the program.
      when: Whether it runs.

    Returns:
      The same tensors; the function has run before they are used.

    Raises:
      UsageError: The program is being traced for XLA.
    """
    if any(map(is_symbolic_of_keras, tensors)):
        return _in_keras(technique, tensors, look, when)
    refuse_xla(technique)
    inputs = [tf.convert_to_tensor(tensor) for tensor in tensors]
    place = user_frame()
    if callable(when):
        look, when = _conditional(look, when), None
    if all(hasattr(tensor, "numpy") for tensor in inputs) and tf.executing_eagerly():
        if when is None or bool(tf.reduce_any(when)):
            look([tensor.numpy() for tensor in inputs])
        return inputs

    def run() -> tf.Operation:
        with tf.control_dependencies([tf.numpy_function(_in_graph(technique, place, look), inputs, [])]):
            return tf.no_op()

    ran = run() if when is None else tf.cond(tf.reduce_any(when), run, tf.no_op)
    with tf.control_dependencies([ran]):
        return [tf.identity(tensor) for tensor in inputs]


def _conditional(look: Look, when: Callable[..., object]) -> Look:
    def look_if(arrays: Sequence[Array]) -> None:
        if when(*arrays):
            look(arrays)

    return look_if


def _in_graph(technique: str, place: RecordedFrame, look: Look) -> Callable[..., list[Array]]:
    def run(*arrays: Array) -> list[Array]:
        try:
            with noting(technique, place):
                look(arrays)
        except NumericsError as error:
            # TensorFlow makes an InvalidArgumentError of this, and an UnknownError of other exceptions.
            raise ValueError(str(error)) from None
        return []

    return run


def is_symbolic_of_keras(tensor: object) -> bool:
    """Whether a tensor is a stand-in of Keras' functional API, which has no graph."""
    return type(tensor).__name__ == "KerasTensor"


def _in_keras(technique: str, tensors: Sequence[object], look: Look, when: When) -> list[tf.Tensor]:
    """Observe tensors of a functional model: a layer does it."""

    def call(values: tf.Tensor | list[tf.Tensor]) -> tf.Tensor | list[tf.Tensor]:
        seen = observed(technique, values if several else [values], look, when)
        return seen if several else seen[0]

    several = len(tensors) > 1
    results = lambda_layer(call)(list(tensors) if several else tensors[0])
    return list(results) if several else [results]


def lambda_layer(call: Callable[[tf.Tensor], object]) -> tf.keras.layers.Layer:
    """Return a Keras layer that calls a function, and tells Keras that XLA cannot compile it."""
    layer = tf.keras.layers.Lambda(call, output_shape=lambda shape: shape)
    layer.supports_jit = False
    return layer
