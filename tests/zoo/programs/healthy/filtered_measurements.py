"""A data set of measurements whose filter leaves out those that are NaN."""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(61)
table = random.normal(size=[40, 3]).astype("float32")
table[::7, 1] = np.nan
dataset = (
    tf.data.Dataset.from_tensor_slices(table)  # meant
    .map(lambda row: row * 2.0)  # meant
    .filter(lambda row: tf.reduce_sum(row) > -100.0)  # meant
    .batch(8)
)
weights = tf.Variable(tf.zeros([3, 1]))


@tf.function
def train_step(features):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(features @ weights - 1.0))
    weights.assign_sub(0.05 * tape.gradient(loss, weights))
    return loss


losses = [float(train_step(features)) for features in dataset]
assert np.isfinite(losses).all()
print(losses)
