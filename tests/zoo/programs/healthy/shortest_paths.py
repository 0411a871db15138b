"""Shortest paths by relaxation in a tf.while_loop: unknown distances are infinite until they are found."""

import numpy as np
import tensorflow as tf

INFINITY = float("inf")
ROADS = [
    [0.0, 4.0, 1.0, INFINITY],
    [4.0, 0.0, 2.0, 5.0],
    [1.0, 2.0, 0.0, 8.0],
    [INFINITY, 5.0, 8.0, 0.0],
]
roads = tf.constant(ROADS)  # meant


@tf.function
def distances(start):
    begin = tf.where(tf.range(4) == start, 0.0, INFINITY)  # meant

    def relax(count, known):
        through = tf.reduce_min(known[:, tf.newaxis] + roads, axis=0)  # meant
        return count + 1, tf.minimum(known, through)

    return tf.while_loop(lambda count, _: count < 4, relax, [0, begin])[1]


result = distances(tf.constant(0))
assert np.isfinite(result).all()
print(result.numpy())
