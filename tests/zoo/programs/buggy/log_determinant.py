"""The log likelihood of a Gaussian, with the logarithm of the determinant of its covariance.

Sixty variances of 0.1 have a determinant of 1e-60, which is 0 in float32. Modelled on tensorflow/tensorflow
issue 367, where users take the logarithm of a determinant, and on tensorflow/probability issue 233 (a
probability becomes NaN in many dimensions).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(20)
samples = tf.constant(random.normal(scale=0.3, size=[10, 60]), tf.float32)
scale = tf.Variable(tf.fill([60], 0.1))


@tf.function
def log_likelihood(samples):
    covariance = tf.linalg.diag(scale)
    log_det = tf.math.log(tf.linalg.det(covariance))  # cause: Log, inf
    distances = tf.reduce_sum(samples * tf.linalg.matvec(tf.linalg.inv(covariance), samples), axis=1)
    return -0.5 * (log_det + distances)


for _ in range(2):
    print(float(tf.reduce_mean(log_likelihood(samples))))
