"""A projection onto boxes, some of which are open: their bounds are infinite constants."""

import numpy as np
import tensorflow as tf

lower = tf.constant([0.0, -np.inf, -1.0])  # meant
upper = tf.constant([np.inf, 2.0, 1.0])  # meant
point = tf.Variable([-3.0, 5.0, 0.5])
target = tf.constant([-1.0, 4.0, 3.0])


@tf.function
def descend():
    with tf.GradientTape() as tape:
        distance = tf.reduce_sum(tf.square(point - target))
    moved = point - 0.2 * tape.gradient(distance, point)
    point.assign(tf.clip_by_value(moved, lower, upper))  # meant
    return distance


distances = [float(descend()) for _ in range(6)]
assert np.isfinite(point).all()
print(distances, point.numpy())
