"""The smallest and the largest value of a stream, in a loop that begins at infinity and -infinity."""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(53)
stream = tf.constant(random.normal(size=[40, 3]), tf.float32)


@tf.function
def value_range(stream):
    low = tf.fill([3], float("inf"))  # meant
    high = tf.fill([3], float("-inf"))  # meant
    for row in stream:
        low, high = tf.minimum(low, row), tf.maximum(high, row)
    return low, high


low, high = value_range(stream)
assert np.all(np.asarray(low) < np.asarray(high))
print(low.numpy(), high.numpy())
