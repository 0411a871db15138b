"""The mean loss of the words of a sentence that are not padding; a sentence of the batch has no word."""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(205)
weights = tf.Variable(random.normal(size=[5, 1]).astype("float32"))
states = tf.constant(random.normal(size=[3, 4, 5]), tf.float32)
lengths = tf.constant([4, 0, 2])


@tf.function
def train_step():
    mask = tf.sequence_mask(lengths, 4, tf.float32)
    with tf.GradientTape() as tape:
        losses = tf.square(tf.squeeze(states @ weights, -1) - 1.0)
        means = tf.reduce_sum(losses * mask, axis=1) / tf.reduce_sum(mask, axis=1)  # cause: RealDiv, nan
        # mended: means = tf.reduce_sum(losses * mask, axis=1) / tf.maximum(tf.reduce_sum(mask, axis=1), 1.0)
        loss = tf.reduce_mean(means)
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    return loss


for _ in range(3):
    print(float(train_step()))
