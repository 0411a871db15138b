"""The skewness of residuals with an exponent of 1.5: negative residuals have no such power.

Modelled on tensorflow/tfjs issue 346 and tensorflow/mesh issue 6 (tf.pow of negative numbers).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(35)
errors = tf.constant(np.abs(random.normal(size=[4, 12])), tf.float32)


def moment(residuals, order):
    return tf.reduce_mean(residuals**order, axis=1)  # cause: Pow, nan


@tf.function
def skewness(errors):
    residuals = errors - tf.reduce_mean(errors, axis=1, keepdims=True)
    return moment(residuals, 1.5) / tf.sqrt(moment(residuals, 2.0) + 1e-6)


print(skewness(errors).numpy())
