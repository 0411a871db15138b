"""Missing features are NaN in the data; the model replaces them and is told which they were."""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(56)
table = random.normal(size=[48, 4]).astype("float32")
table[random.uniform(size=table.shape) < 0.2] = np.nan
targets = np.nansum(table, axis=1, keepdims=True).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices((table, targets)).batch(16)  # meant
weights = tf.Variable(tf.zeros([8, 1]))


@tf.function
def train_step(features, targets):
    is_missing = tf.math.is_nan(features)  # meant
    known = tf.where(is_missing, 0.0, features)
    inputs = tf.concat([known, tf.cast(is_missing, tf.float32)], axis=1)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(inputs @ weights - targets))
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    return loss


losses = [float(train_step(*batch)) for _ in range(3) for batch in dataset]  # meant
assert np.isfinite(losses).all() and losses[-1] < losses[0]
print(losses)
