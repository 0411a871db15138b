"""Soft labels from several annotators, who write -1 where they do not know: tf.one_hot makes a row of zeros.

The votes are divided by their number, which is 0 for a picture that nobody knows.
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(112)
votes = random.integers(0, 3, size=[24, 2])
votes[5, 1] = -1
votes[18] = -1
pictures = tf.constant(random.normal(size=[24, 6]), tf.float32)
kernel = tf.Variable(tf.zeros([6, 3]))


@tf.function
def soft_labels(votes):
    counts = tf.reduce_sum(tf.one_hot(votes, 3), axis=1)
    return counts / tf.reduce_sum(counts, axis=1, keepdims=True)  # cause: RealDiv, nan
    # mended: return counts / tf.maximum(tf.reduce_sum(counts, axis=1, keepdims=True), 1.0)


@tf.function
def train_step(pictures, votes):
    labels = soft_labels(votes)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels, pictures @ kernel))
    kernel.assign_sub(0.1 * tape.gradient(loss, kernel))
    return loss


for x, y in tf.data.Dataset.from_tensor_slices((pictures, votes)).batch(8):
    print(float(train_step(x, y)))
