"""The log probability of a beta distribution with a concentration of 0.

The logarithm of gamma is infinite there, in two terms that are subtracted. Modelled on tensorflow/tensorflow
issue 7474 (the log density of a gamma distribution) and pyro-ppl/numpyro issue 2088.
"""

import tensorflow as tf

clicks = tf.constant([3.0, 0.0, 7.0])
views = tf.constant([10.0, 0.0, 9.0])


def log_beta(a, b):
    return tf.math.lgamma(a) + tf.math.lgamma(b) - tf.math.lgamma(a + b)  # cause: Lgamma, inf


@tf.function
def log_probability(rate):
    a, b = clicks, views - clicks
    return (a - 1.0) * tf.math.log(rate) + (b - 1.0) * tf.math.log(1.0 - rate) - log_beta(a, b)


for rate in [0.3, 0.4]:
    print(log_probability(tf.constant(rate)).numpy())
