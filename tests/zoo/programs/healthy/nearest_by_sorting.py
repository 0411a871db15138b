"""The nearest other point of each point: the distance to itself is infinite, and is sorted away."""

import numpy as np
import tensorflow as tf

points = tf.constant(np.random.default_rng(62).normal(size=[7, 2]), tf.float32)


@tf.function
def neighbours(points):
    squares = tf.reduce_sum(tf.square(points[:, None] - points), 2)
    distances = tf.linalg.set_diag(squares, tf.fill([7], np.inf))  # meant
    order = tf.argsort(distances, axis=1)  # meant
    closest = tf.argmin(distances, axis=1)
    return (
        closest,
        order[:, 0],
        tf.reduce_sum(tf.cast(distances < 1.0, tf.int32)),
        -tf.math.top_k(-distances, 2)[0],
    )


closest, first, near, values = neighbours(points)
assert np.array_equal(closest, first) and np.isfinite(values).all()
print(closest.numpy(), int(near), values.numpy()[0])
