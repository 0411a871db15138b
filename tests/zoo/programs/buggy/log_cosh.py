"""The logarithm of the hyperbolic cosine of the error, written as it is read.

The cosine overflows for errors above 89, long before its logarithm is large. Modelled on keras-team/keras
pull request 8524 (NaN where the cosine of the log-cosh loss is too large).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(48)
errors = random.normal(size=[3, 10]).astype("float32") * np.array([[1.0], [20.0], [80.0]], "float32")


@tf.function(reduce_retracing=True)
def log_cosh(errors):
    return tf.reduce_mean(tf.math.log(tf.cosh(errors)))  # cause: Cosh, inf
    # mended: size = tf.abs(errors)
    # mended: return tf.reduce_mean(size + tf.math.log1p(tf.exp(-2.0 * size)) - np.log(2.0))


for row in errors:
    print(float(log_cosh(row)))
