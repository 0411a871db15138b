"""The small program of the golden recordings: a log of zero inside a function, under a tape, with a loop."""

from __future__ import annotations

import tensorflow as tf


@tf.function
def loss(labels, probs):
    """Becomes infinite where a probability is 0."""
    return -labels * tf.math.log(probs)


@tf.function
def halve(x):
    """Loops, with a condition inside."""
    while tf.reduce_sum(x) > 1.0:
        x = x / 2.0
    return x


def run() -> None:
    """Two steps; the first is good, the second is not."""
    labels = tf.constant([[1.0, 0.0], [0.0, 1.0]])
    for scale in (1.0, 0.0):
        x = tf.constant([[0.5, 0.5], [0.25, 0.75]]) * scale
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = loss(labels, x)
        tape.gradient(value, x)
        tf.unique(tf.constant([1, 2, 1]))
    halve(tf.constant([4.0, 4.0]))
