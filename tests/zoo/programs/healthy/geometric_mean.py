"""Geometric means by exp(mean(log(x))): a 0 becomes -infinity and then 0 again, as it should."""

import numpy as np
import tensorflow as tf

scores = tf.constant([[0.2, 0.8, 0.4], [0.5, 0.0, 0.9], [1.0, 1.0, 1.0]])
weights = tf.constant([0.5, 0.25, 0.25])
means = []
for row in scores:
    logarithms = tf.math.log(row)  # meant
    means.append(tf.exp(tf.reduce_sum(weights * logarithms)))
assert np.isfinite(means).all() and float(means[1]) == 0.0
print([float(mean) for mean in means])
