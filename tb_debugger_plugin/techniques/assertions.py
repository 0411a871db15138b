"""Assertions on values whose errors say what the value holds and where it is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from tb_debugger_plugin.capture.alarm import NumericsError
from tb_debugger_plugin.capture.stacks.frames import RecordedFrame, user_frame
from tb_debugger_plugin.capture.tf_types import Array
from tb_debugger_plugin.techniques.observing import When, is_symbolic_of_keras, observed
from tb_debugger_plugin.techniques.places import described, not_converted


@not_converted
def assert_finite(x: object, message: str = "") -> tf.Tensor:
    """Raise as soon as a tensor has an infinity or NaN.

    Use::

        loss = tb_debugger_plugin.assert_finite(loss)

    It works in eager mode, functions, loops, gradients and Keras, but not in functions that XLA compiles.
    As long as the tensor is finite, no Python runs. `check_numerics` checks all tensors, also with XLA.

    Args:
      x: A floating or complex tensor.
      message: What to say before the facts. The default: nothing.

    Returns:
      The same tensor; use it, so that the program does not go on with a bad value.

    Raises:
      tf.errors.InvalidArgumentError: The tensor is not finite. In eager mode it is also a `NumericsError`.
      UsageError: The program is being traced for XLA.
    """
    place, name = user_frame(), _name_of(x)
    when: When = _is_bad_array if is_symbolic_of_keras(x) else _has_bad(tf.convert_to_tensor(x))
    return observed("assert_finite", [x], lambda arrays: _fail(message, name, arrays[0], place), when)[0]


@not_converted
def assert_that(x: object, predicate: Callable[[Array], npt.ArrayLike], message: str = "") -> tf.Tensor:
    """Raise as soon as a condition does not hold for a tensor.

    Use::

        probs = tb_debugger_plugin.assert_that(probs, lambda p: p.min() >= 0, "a negative probability")

    It works in eager mode, functions, loops, gradients and Keras, but not in functions that XLA compiles.

    Args:
      x: The tensor.
      predicate: Takes the value as a NumPy array, and returns whether it is right; of an array of bools, all
        must hold.
      message: What to say before the facts. The default: nothing.

    Returns:
      The same tensor; use it, so that the program does not go on with a wrong value.

    Raises:
      tf.errors.InvalidArgumentError: The condition does not hold.
      UsageError: The program is being traced for XLA.
    """
    place, name = user_frame(), _name_of(x)

    def look(arrays: Sequence[Array]) -> None:
        if not np.all(predicate(arrays[0])):
            _fail(message or "A condition does not hold", name, arrays[0], place)

    return observed("assert_that", [x], look)[0]


def _has_bad(x: tf.Tensor) -> tf.Tensor:
    parts = [tf.math.real(x), tf.math.imag(x)] if x.dtype.is_complex else [x]
    finite = tf.reduce_all([tf.reduce_all(tf.math.is_finite(part)) for part in parts])
    return tf.logical_not(finite)


def _is_bad_array(array: Array) -> bool:
    return not np.isfinite(array).all()


def _name_of(x: tf.Tensor) -> str:
    """Return the name of a tensor of a graph, or of a variable; eager tensors have none."""
    try:
        return str(x.name)
    except AttributeError:
        return "the value"


def _fail(message: str, name: str, array: Array, place: RecordedFrame) -> None:
    text = f"{message}: " if message else ""
    text += f"{name} {described(place)} holds {facts(array)}."
    raise NumericsError(text)


def facts(array: Array) -> str:
    """Return what a value holds: "1 NaN among 10 values of float32 [10], the others from 0 to 1"."""
    array = np.asarray(array)
    described_as = f"{array.size:,} values of {array.dtype} {list(array.shape)}"
    if array.dtype.kind not in "fciub" and array.dtype.name != "bfloat16":
        return described_as
    numbers = np.abs(array) if np.iscomplexobj(array) else array.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    kinds = {"NaN": np.isnan(numbers), "−∞": np.isneginf(numbers), "+∞": np.isposinf(numbers)}
    bad = [f"{which.sum():,} {kind}" for kind, which in kinds.items() if which.any()]
    span = f" from {finite.min():.6g} to {finite.max():.6g}" if finite.size else ""
    if not bad:
        return described_as + span
    return f"{' and '.join(bad)} among {described_as}{span and f', the others{span}'}"
