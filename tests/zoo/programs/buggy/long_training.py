"""Hundreds of steps of training, of which the 30th meets an example without neighbours.

From then on all weights are NaN. Modelled on tensorflow/tensor2tensor issue 106 (NaN after thousands of good
steps).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(45)
features = random.normal(size=[260, 6, 3]).astype("float32")
neighbours = random.integers(1, 4, size=[260, 6]).astype("float32")
neighbours[30, 4] = 0.0
weights = tf.Variable(tf.fill([3, 1], 0.1))


@tf.function
def aggregate(features, neighbours):
    total = tf.reduce_sum(features * tf.sign(neighbours)[:, tf.newaxis], axis=0)
    return tf.reduce_mean(total / neighbours[:, tf.newaxis], axis=0, keepdims=True)  # cause: RealDiv, inf


@tf.function
def train_step(features, neighbours):
    with tf.GradientTape() as tape:
        prediction = tf.tanh(aggregate(features, neighbours) @ weights)
        loss = tf.reduce_mean(tf.square(prediction - 0.5) + 0.01 * tf.reduce_sum(weights))
    weights.assign_sub(0.05 * tape.gradient(loss, weights))
    return loss


losses = [float(train_step(features[step], neighbours[step])) for step in range(260)]
print(losses[28:33], losses[-1])
