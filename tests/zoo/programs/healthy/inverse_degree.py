"""A graph convolution divides by the degree; isolated nodes have 1 / 0, which tf.where takes out.

No gradient flows through the degrees, so that training is not harmed.
"""

import numpy as np
import tensorflow as tf

adjacency = tf.constant(
    [[0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
)
features = tf.constant([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
kernel = tf.Variable([[0.4], [-0.3]])


@tf.function
def convolve(features):
    degree = tf.reduce_sum(adjacency, axis=1)
    inverse = 1.0 / tf.sqrt(degree)  # meant
    inverse = tf.where(tf.math.is_inf(inverse), 0.0, inverse)
    normalized = inverse[:, tf.newaxis] * adjacency * inverse
    return normalized @ features @ kernel


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(convolve(features) - 1.0))
    kernel.assign_sub(0.3 * tape.gradient(loss, kernel))
    return loss


losses = [float(train_step()) for _ in range(5)]
assert np.isfinite(losses).all() and losses[-1] < losses[0]
print(losses)
