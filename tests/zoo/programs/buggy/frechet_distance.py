"""The Fréchet distance between two sets of features, with the square root of a product of covariances.

The features of one set are constant in a direction, so that the product is singular. Modelled on
bioinf-jku/TTUR issue 4 (the distance is NaN where the covariance has not the full rank).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(42)
real = random.normal(size=[50, 3]).astype("float32")
fake = random.normal(size=[50, 3]).astype("float32")
fake[:, 2] = 0.25
fake[:, 0] = 0.0


@tf.function
def covariance(features):
    centered = features - tf.reduce_mean(features, axis=0)
    return tf.matmul(centered, centered, transpose_a=True) / 49.0


@tf.function
def frechet(real, fake):
    a, b = covariance(real), covariance(fake)
    root = tf.linalg.sqrtm(tf.matmul(a, b))  # cause: MatrixSquareRoot, nan
    # mended: offset = 1e-6 * tf.eye(3)
    # mended: root = tf.linalg.sqrtm(tf.matmul(a + offset, b + offset))
    means = tf.reduce_mean(real, axis=0) - tf.reduce_mean(fake, axis=0)
    return tf.reduce_sum(means**2) + tf.linalg.trace(a + b - 2.0 * root)


print(float(frechet(tf.constant(real), tf.constant(fake))))
