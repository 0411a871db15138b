"""A moving average is NaN until its window is full; those rows are dropped before training."""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(158)
series = tf.constant(np.cumsum(random.normal(size=40)) * 0.1, tf.float32)
weight = tf.Variable(0.0)


def moving_average(series, window):
    full = tf.squeeze(tf.nn.avg_pool1d(series[tf.newaxis, :, tf.newaxis], window, 1, "VALID"), [0, 2])
    return tf.concat([tf.fill([window - 1], np.nan), full], axis=0)  # meant


@tf.function
def train_step(series):
    average = moving_average(series, 5)
    known = tf.math.logical_not(tf.math.is_nan(average))
    x, y = tf.boolean_mask(average, known), tf.boolean_mask(series, known)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(weight * x - y))
    weight.assign_sub(0.1 * tape.gradient(loss, weight))
    return loss


losses = [float(train_step(series)) for _ in range(5)]
assert np.isfinite(losses).all() and losses[-1] < losses[0]
print(losses)
