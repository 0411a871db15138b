"""Functions that call functions: the weights of an average are normalised three calls deep.

One group has no weight at all. Modelled on tensorflow/tensorflow issue 36359 (weights that sum to 0).
"""

import tensorflow as tf

values = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
trust = tf.Variable([[0.5, 0.2], [0.0, 0.0], [1.0, 3.0]])


@tf.function
def normalize(weights):
    total = tf.reduce_sum(weights, axis=1, keepdims=True)
    return weights / total  # cause: RealDiv, nan
    # mended: return weights / tf.where(total > 0.0, total, 1.0)


@tf.function
def average(values, weights):
    return tf.reduce_sum(values * normalize(weights), axis=1)


@tf.function
def loss_of(values):
    return tf.reduce_mean(tf.square(average(values, tf.nn.relu(trust)) - 2.0))


for step in range(2):
    with tf.GradientTape() as tape:
        loss = loss_of(values)
    trust.assign_sub(0.1 * tape.gradient(loss, trust))
    print(step, float(loss))
