"""The best loss so far is a variable that begins at infinity; training stops when it no longer falls."""

import numpy as np
import tensorflow as tf

weight = tf.Variable([3.0, -2.0])
best = tf.Variable(np.inf, dtype=tf.float32)  # meant


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(weight))
    weight.assign_sub(0.2 * tape.gradient(loss, weight))
    is_better = loss < best  # meant
    best.assign(tf.minimum(best, loss))  # meant
    return loss, is_better


for step in range(6):
    loss, is_better = train_step()
    print(step, float(loss), bool(is_better))
assert np.isfinite(float(best))
