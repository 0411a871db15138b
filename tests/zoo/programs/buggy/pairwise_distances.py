"""Distances between all pairs by a² - 2ab + b², which saves memory.

For equal points the sum is rounded to something below 0. Modelled on tensorflow/addons pull request 1966 and
tensorflow/tensorflow issue 30199 (distances in triplet losses).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(38)
points = tf.constant(random.normal(loc=30.0, size=[25, 7]), tf.float32)


@tf.function
def distances(points):
    squares = tf.reduce_sum(points * points, axis=1)
    products = tf.matmul(points, points, transpose_b=True)
    squared = squares[:, tf.newaxis] - 2.0 * products + squares
    return tf.sqrt(squared)  # cause: Sqrt, nan
    # mended: return tf.sqrt(tf.maximum(squared, 0.0))


print(float(tf.reduce_mean(distances(points))))
