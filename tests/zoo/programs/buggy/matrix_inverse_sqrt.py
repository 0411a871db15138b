"""Whitening by the inverse square root of a covariance, from its eigenvalues.

One feature is the sum of two others, so that an eigenvalue is 0 and rounding makes it negative. Modelled on
tensorflow/tensorflow issue 57003 and geomstats/geomstats issue 160.
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(21)
features = random.integers(0, 5, size=[40, 2]).astype("float32")
features = tf.constant(np.hstack([features, features.sum(axis=1, keepdims=True)]))


@tf.function
def whiten(features):
    centered = features - tf.reduce_mean(features, axis=0)
    covariance = tf.matmul(centered, centered, transpose_a=True) / 40.0
    eigenvalues, vectors = tf.linalg.eigh(covariance)
    scale = tf.pow(eigenvalues, -0.5)  # cause: Pow, nan
    return tf.matmul(centered @ vectors, tf.linalg.diag(scale))


print(tf.math.reduce_std(whiten(features), axis=0).numpy())
