"""Features are made Gaussian by their rank: ndtri(rank / n), where the last rank is n / n = 1."""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(123)
values = tf.constant(random.gamma(2.0, size=[12]), tf.float32)


@tf.function
def to_gaussian(values):
    ranks = tf.argsort(tf.argsort(values)) + 1
    share = tf.cast(ranks, tf.float32) / tf.cast(tf.size(values), tf.float32)
    return tf.math.ndtri(share)  # cause: Ndtri, inf


features = to_gaussian(values)
print((features - tf.reduce_mean(features)).numpy())
