"""A Kalman filter that knows nothing at first: an infinite variance, whose inverse is a precision of 0."""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(155)
readings = tf.constant(random.normal(size=[20, 2]) + 3.0, tf.float32)
variance = tf.Variable([np.inf, np.inf], dtype=tf.float32)  # meant
mean = tf.Variable([0.0, 0.0])


@tf.function
def update(reading):
    precision = 1.0 / variance + 1.0 / 0.5
    mean.assign((mean / variance + reading / 0.5) / precision)
    variance.assign(1.0 / precision + 0.01)
    return mean


for reading in readings:
    update(reading)
assert np.isfinite(mean.numpy()).all() and np.isfinite(variance.numpy()).all()
print(mean.numpy(), variance.numpy())
