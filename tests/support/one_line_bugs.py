"""Programs with one line and one bug each, for what the debugger advises against it.

The name of a program is the name of its function; the line is the function's only one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

Program = Callable[..., object]


@dataclass(frozen=True)
class Bug:
    """A program with a bug.

    Attributes:
      program: The program.
      op: Type of the op that makes the first bad value.
      words: A part of the advice.
      arguments: What the program is called with.
      is_gradient: Whether the gradient is bad, rather than the value.
      is_repaired: Whether the advice has a changed line, with which nothing is bad.
    """

    program: Program
    op: str
    words: str
    arguments: tuple[tf.Tensor, ...]
    is_gradient: bool = False
    is_repaired: bool = True

    @property
    def name(self) -> str:
        """Name of the program."""
        return str(self.program.__name__)

    def traced(self) -> list[tf.Tensor]:
        """Run the program, or its gradient, as a function."""

        def run(*arguments):
            return results(self.program, arguments, is_gradient=self.is_gradient)

        return tf.function(run, autograph=False)(*self.arguments)

    def changed(self, before: str, after: str) -> list[tf.Tensor]:
        """Run the program with a changed line."""
        source = inspect.getsource(self.program)
        assert source.count(before) == 1
        names: dict[str, Any] = {"tf": tf, "np": np}
        exec(compile(source.replace(before, after), self.name, "exec"), names)
        return results(names[self.name], self.arguments, is_gradient=self.is_gradient)


def results(program: Program, arguments: tuple[tf.Tensor, ...], *, is_gradient: bool) -> list[tf.Tensor]:
    """The results of a program, or the gradients of its first argument."""
    if not is_gradient:
        return tf.nest.flatten(program(*arguments))
    with tf.GradientTape() as tape:
        tape.watch(arguments[0])
        result = program(*arguments)
    return [tape.gradient(result, arguments[0])]


def floats(*values: float) -> tf.Tensor:
    return tf.constant(values, tf.float32)


def log_of_softmax(z):
    return tf.math.log(tf.nn.softmax(z))


def log_of_own_softmax(z):
    return tf.math.log(tf.exp(z) / tf.reduce_sum(tf.exp(z)))


def log_of_sigmoid(z):
    return tf.math.log(tf.nn.sigmoid(z))


def log_of_rest(z):
    return tf.math.log(1.0 - tf.nn.sigmoid(z))


def log_of_zero(p):
    return tf.math.log(p)


def entropy(p):
    return -tf.reduce_sum(p * tf.math.log(p))


def norm(x):
    return tf.norm(x)


def euclidean_norm(x):
    return tf.math.reduce_euclidean_norm(x)


def distance(x):
    return tf.sqrt(tf.reduce_sum(tf.square(x)))


def deviation(x):
    return tf.math.reduce_std(x)


def root_in_where(x):
    return tf.where(x > 0, tf.math.rsqrt(x), 0.0)


def log_in_where(x):
    return tf.where(x > 0, tf.math.log(x), 0.0)


def division_in_where(x):
    return tf.where(x > 0, 1.0 / x, 0.0)


def masked_mean(x):
    return tf.reduce_sum(x * tf.cast(x > 5, tf.float32)) / tf.reduce_sum(tf.cast(x > 5, tf.float32))


def per_member(x):
    return tf.reduce_sum(x) / tf.reduce_sum(tf.cast(x > 5, tf.float32))


def log_of_chosen(z):
    return tf.math.log(tf.reduce_sum(tf.nn.softmax(z) * tf.one_hot(0, 3)))


def wrapped(pixels):
    return tf.math.log(tf.cast(pixels + 1, tf.float32))


def added(x):
    return tf.math.log(tf.exp(x[0]) + tf.exp(x[1]))


def rounded_clip(p):
    return tf.math.log(1.0 - tf.clip_by_value(p, 1e-9, 1.0 - 1e-9))


def half_epsilon(x):
    return tf.math.rsqrt(tf.cast(x, tf.float16) + 1e-8)


def half_mask(x):
    return tf.cast(x, tf.float16) + tf.cast(-1e9, tf.float16)


def underflow(x):
    return x / tf.reduce_sum(tf.exp(-tf.square(x)) * 2.0)


def slerp(angle):
    return tf.sin(0.5 * angle) / tf.sin(angle)


def own_softmax(x):
    return tf.exp(x) / tf.reduce_sum(tf.exp(x))


def log_sum_exp(x):
    return tf.math.log(tf.reduce_sum(tf.exp(x)))


def own_softplus(x):
    return tf.math.log(1.0 + tf.exp(x))


def infinite_mask(m):
    return (1.0 - m) * float("-inf")


def masked_row(x):
    return tf.nn.softmax(tf.where(x > 5, x, -np.inf))


def standardized(x):
    return (x - tf.reduce_mean(x)) / tf.math.reduce_std(x)


def between_limits(x):
    return (x - tf.reduce_min(x)) / (tf.reduce_max(x) - tf.reduce_min(x))


def shares(x):
    return x / tf.reduce_sum(x)


def per_step(x, step):
    return x / tf.cast(step, tf.float32)


def temperature(x):
    return x / 0.0


def corrected(m, step):
    return m / (1.0 - 0.9**step)


def root_as_power(x):
    return tf.pow(x, 0.5)


def negative_power(x):
    return x**0.3


def angle(x):
    return tf.acos(x)


def angle_beyond(x):
    return tf.acos(x)


def direction(x):
    return tf.atan2(x, tf.zeros_like(x))


def cholesky(k):
    return tf.linalg.cholesky(k)


def sum_in_half(x):
    return tf.reduce_sum(tf.cast(x, tf.float16))


def cast_to_half(x):
    return tf.cast(x, tf.float16)


def mean_of_nothing(x):
    return tf.reduce_mean(x)


def maximum_of_nothing(x):
    return tf.reduce_max(x, axis=0)


def clipped(x):
    return tf.clip_by_global_norm([x], 1.0)[0]


def pole(x):
    return tf.math.digamma(x)


_MATRIX = tf.constant([[1.0, 2.0], [2.0, 1.0]])
_ZEROS, _ONES = floats(0, 0), floats(1, 1)

BUGS = (
    Bug(log_of_softmax, "Log", "tf.nn.log_softmax", (floats(0, 200, 0),)),
    Bug(log_of_own_softmax, "Log", "tf.nn.log_softmax", (floats(-60, 80, -60),)),
    Bug(log_of_sigmoid, "Log", "tf.math.log_sigmoid", (floats(-200, 0),)),
    Bug(log_of_rest, "Log", "of the negative", (floats(200, 0),)),
    Bug(log_of_zero, "Log", "decide what the logarithm shall be", (floats(0, 1),), is_repaired=False),
    Bug(log_of_chosen, "Log", "Clip the probability", (floats(-200, 0, 0),)),
    Bug(wrapped, "Log", "Integers wrap around", (tf.constant([255, 3], tf.uint8),)),
    Bug(added, "Exp", "tf.reduce_logsumexp of the stacked", (floats(300, 1),)),
    Bug(rounded_clip, "Log", "is 1 in this dtype", (floats(1, 0.5),), is_repaired=False),
    Bug(half_epsilon, "Rsqrt", "is 0 in float16", (floats(0, 1),), is_repaired=False),
    Bug(half_mask, "Cast", "beyond the range of the dtype", (floats(0, 1),)),
    Bug(underflow, "RealDiv", "very negative number is 0", (floats(30, 40),), is_repaired=False),
    Bug(slerp, "RealDiv", "decide what the result shall be", (floats(0, 1),), is_repaired=False),
    Bug(entropy, "Log", "tf.math.xlogy", (floats(0, 1),)),
    Bug(norm, "SqrtGrad", "a norm or a distance", (_ZEROS,), is_gradient=True),
    Bug(euclidean_norm, "RealDiv", "a norm or a distance", (_ZEROS,), is_gradient=True),
    Bug(distance, "SqrtGrad", "a norm or a distance", (_ZEROS,), is_gradient=True),
    Bug(deviation, "SqrtGrad", "the variance is 0", (_ONES,), is_gradient=True),
    Bug(root_in_where, "Rsqrt", "tf.where does not stop the gradient", (floats(0, 1),)),
    Bug(log_in_where, "Reciprocal", "tf.where does not stop", (floats(0, 1),), is_gradient=True),
    Bug(division_in_where, "RealDiv", "tf.where does not stop", (floats(0, 1),), is_gradient=True),
    Bug(masked_mean, "RealDiv", "both the sum and the count are 0", (floats(1, 2),)),
    Bug(per_member, "RealDiv", "counts what a mask or a group selects", (floats(1, 2),), is_repaired=False),
    Bug(own_softmax, "Exp", "Subtract the maximum of each row", (floats(1, 300),)),
    Bug(log_sum_exp, "Exp", "tf.reduce_logsumexp subtracts", (floats(1, 300),)),
    Bug(own_softplus, "Exp", "tf.nn.softplus is the same", (floats(1, 300),)),
    Bug(infinite_mask, "Mul", "Choose with tf.where", (floats(0, 1),)),
    Bug(masked_row, "Softmax", "at least one entry of each row", (floats(1, 2),)),
    Bug(standardized, "RealDiv", "add an epsilon to the deviation", (_ONES,)),
    Bug(between_limits, "RealDiv", "where a column is constant", (_ONES,)),
    Bug(shares, "RealDiv", "divided by the whole", (_ZEROS,)),
    Bug(per_step, "RealDiv", "a whole number", (_ONES, tf.constant(0)), is_repaired=False),
    Bug(temperature, "RealDiv", "a constant of the program", (_ONES,), is_repaired=False),
    Bug(corrected, "RealDiv", "count the steps from 1", (_ONES, tf.constant(0.0))),
    Bug(root_as_power, "Pow", "keep the base above 0", (floats(0, 1),), is_gradient=True),
    Bug(negative_power, "Pow", "why the base is negative", (floats(-1, 1),), is_repaired=False),
    Bug(angle, "Reciprocal", "ends of the range", (floats(1, 0),), is_gradient=True),
    Bug(angle_beyond, "Acos", "why the argument is outside", (floats(1.001, 0),), is_repaired=False),
    Bug(direction, "RealDiv", "0 at the origin", (floats(0, 1),), is_gradient=True),
    Bug(cholesky, "Cholesky", "jitter", (_MATRIX * 1e-8,)),
    Bug(sum_in_half, "Sum", "float16 ends at 65,504", (tf.fill([300], 300.0),), is_repaired=False),
    Bug(cast_to_half, "Cast", "Keep this part in float32", (floats(7e4),), is_repaired=False),
    Bug(mean_of_nothing, "Mean", "select nothing", (tf.zeros([0, 3]),)),
    Bug(maximum_of_nothing, "Max", "something to choose from", (tf.zeros([0, 3]),), is_repaired=False),
    Bug(clipped, "L2Loss", "clip each gradient by value first", (floats(1e20, 1),), is_repaired=False),
    Bug(pole, "Digamma", "Keep the argument above 0", (floats(0, 1),), is_repaired=False),
)
