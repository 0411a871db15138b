"""The entropy of distributions with zeros, by multiply_no_nan: the logarithm of 0 is multiplied away."""

import numpy as np
import tensorflow as tf

distributions = tf.constant([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.2, 0.3, 0.5]])


@tf.function
def entropy(p):
    logarithms = tf.math.log(p)  # meant
    return -tf.reduce_sum(tf.math.multiply_no_nan(logarithms, p), axis=-1)


@tf.function
def cross_entropy(p, q):
    return -tf.reduce_sum(tf.math.xlogy(p, q), axis=-1)


result = tf.concat([entropy(distributions), cross_entropy(distributions, distributions)], axis=0)
assert np.isfinite(result).all()
print(result.numpy())
