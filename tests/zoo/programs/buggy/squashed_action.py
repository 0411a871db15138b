"""Soft actor-critic takes actions out of its memory and undoes their tanh; one action was at the limit.

In float32, tanh of 10 is exactly 1. Modelled on ray-project/ray issue 14878 and rail-berkeley/softlearning
issue 136 (NaN from unsquashed actions).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(102)
mean = tf.Variable([0.0, 0.0])
log_deviation = tf.Variable([0.0, 0.0])
memory = [tf.tanh(tf.constant(random.normal(size=[16, 2]) * scale, tf.float32)) for scale in (0.4, 0.8, 8.0)]


def log_probability(action):
    raw = tf.atanh(action)  # cause: Atanh, inf
    # mended: raw = tf.atanh(tf.clip_by_value(action, -0.999999, 0.999999))
    standard = (raw - mean) * tf.exp(-log_deviation)
    gaussian = -0.5 * tf.square(standard) - log_deviation - 0.919
    return tf.reduce_sum(gaussian - tf.math.log(1.0 - tf.square(action) + 1e-6), axis=-1)


for action in memory:
    with tf.GradientTape() as tape:
        loss = -tf.reduce_mean(log_probability(action))
    gradients = tape.gradient(loss, [mean, log_deviation])
    mean.assign_sub(0.05 * gradients[0])
    log_deviation.assign_sub(0.05 * gradients[1])
    print(float(loss))
