"""Iterates until the distance is small: the root of a negative difference is NaN, which ends the loop.

A comparison with NaN is false, so the loop ends as if it had converged, and what it returns is finite.
"""

import tensorflow as tf


@tf.function
def search(x, y):
    turns = 0
    while tf.reduce_all(tf.sqrt(x - y) > 0.1):  # cause: Sqrt, nan
        x = x - 0.4
        turns += 1
    return x, turns


x, turns = search(tf.constant([3.0, 2.5]), tf.constant([1.0, 1.2]))
print(x.numpy(), int(turns))
