"""A covariance made from correlations that were measured pair by pair.

They contradict each other: no three variables have them, so that the matrix is not positive definite.
Modelled on tensorflow/tensorflow issue 57003 (a Cholesky decomposition that is not defined gives NaN).
"""

import tensorflow as tf

correlations = tf.constant([[1.0, 0.9, 0.1], [0.9, 1.0, 0.9], [0.1, 0.9, 1.0]])
deviations = tf.Variable([0.5, 2.0, 1.5])


@tf.function
def covariance():
    return correlations * deviations[:, tf.newaxis] * deviations


@tf.function
def sample(noise):
    factor = tf.linalg.cholesky(covariance())  # cause: Cholesky, nan
    return tf.matmul(noise, factor, transpose_b=True)


tf.random.set_seed(24)
print(tf.math.reduce_std(sample(tf.random.normal([100, 3])), axis=0).numpy())
