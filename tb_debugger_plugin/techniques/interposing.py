"""Puts a Python function between a tensor and what is computed from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import tensorflow as tf

from tb_debugger_plugin.capture.stacks.frames import user_frame
from tb_debugger_plugin.capture.tf_types import Array
from tb_debugger_plugin.techniques.observing import is_symbolic_of_keras, lambda_layer
from tb_debugger_plugin.techniques.places import not_converted, noting, refuse_xla, usage_error

#: Takes a value, and returns the value to go on with, or None for the same.
Change: TypeAlias = Callable[[Array], object]


@not_converted
def interpose(
    tensor: object, python_function: Change | None = None, *, gradient: Change | None = None
) -> tf.Tensor:
    """Run Python on a value, and go on with what it returns.

    Use::

        hidden = tb_debugger_plugin.interpose(hidden, lambda value: np.clip(value, -10, 10))
        hidden = tb_debugger_plugin.interpose(hidden, gradient=lambda value: print(abs(value).max()))

    It works in eager mode, functions, loops, gradients and Keras, but not in functions that XLA compiles.
    Gradients pass straight through, also when the value was changed.

    Args:
      tensor: The tensor.
      python_function: Takes the value as a NumPy array, each time that it is computed; returns the value to
        go on with, of the same shape, or None (also the default function) for the same.
      gradient: The same for the gradient of the tensor. None (the default): it is not looked at.

    Returns:
      The tensor to go on with.

    Raises:
      UsageError: The program is being traced for XLA, or the returned value has another shape.
    """
    if is_symbolic_of_keras(tensor):
        return lambda_layer(lambda value: interpose(value, python_function, gradient=gradient))(tensor)
    refuse_xla("interpose")
    x = tf.convert_to_tensor(tensor)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        return _changed(x, python_function)

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def passed(value: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
        return _changed(value, python_function), lambda upstream: _changed(upstream, gradient)

    return passed(x)


def _changed(x: tf.Tensor, change: Change | None) -> tf.Tensor:
    if change is None:
        return tf.identity(x)
    if tf.executing_eagerly() and hasattr(x, "numpy"):
        return tf.convert_to_tensor(_result(change, x.numpy()))
    place = user_frame()

    def run(value: Array) -> Array:
        with noting("interpose", place):
            return _result(change, value)

    y = tf.numpy_function(run, [x], x.dtype)
    y.set_shape(x.shape)
    return y


def _result(change: Change, value: Array) -> Array:
    """Return what the user's function returns, checked; its argument is a copy, which it may write to."""
    given = np.array(value)
    returned = change(given)
    result = value if returned is None else np.asarray(returned, value.dtype)
    if result.shape != value.shape:
        raise usage_error(
            f"The function of interpose() got a value of shape {list(value.shape)} and returned one of shape "
            f"{list(result.shape)}: return the same shape, or None to change nothing."
        )
    return result
