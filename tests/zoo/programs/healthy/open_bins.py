"""Ages are put into bins of which the first and the last are open: their edges are infinite."""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(156)
edges = tf.constant([-np.inf, 18.0, 30.0, 65.0, np.inf], tf.float32)  # meant
ages = tf.data.Dataset.from_tensor_slices(random.uniform(1.0, 99.0, size=[40]).astype("float32")).batch(8)


def to_bins(batch):
    inside = (batch[:, tf.newaxis] >= edges[:-1]) & (batch[:, tf.newaxis] < edges[1:])  # meant
    return tf.cast(inside, tf.float32)


counts = sum(tf.reduce_sum(bins, axis=0) for bins in ages.map(to_bins))
assert float(tf.reduce_sum(counts)) == 40.0
print(counts.numpy())
