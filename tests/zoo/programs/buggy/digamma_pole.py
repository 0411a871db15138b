"""The entropy of a Dirichlet distribution, whose concentration is a ReLU.

A dead ReLU gives the concentration 0, a pole of digamma. Modelled on tensorflow/tensorflow issue 59627
(tf.math.digamma of 0 is NaN).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(22)
features = tf.constant(random.normal(size=[5, 3]), tf.float32)
kernel = tf.Variable(random.normal(size=[3, 4]), dtype=tf.float32)


@tf.function
def mean_log(features):
    concentration = tf.nn.relu(features @ kernel)
    total = tf.reduce_sum(concentration, axis=1, keepdims=True)
    return tf.math.digamma(concentration) - tf.math.digamma(total + 1.0)  # cause: Digamma, nan


print(float(tf.reduce_mean(mean_log(features))))
