"""A step is applied in a branch that runs only if the gradient is finite: at first it is not, by design."""

import numpy as np
import tensorflow as tf

weight, scale = tf.Variable(2.0), tf.Variable(2.0**130, dtype=tf.float64)


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        loss = tf.square(weight - 1.0)
        scaled = loss * tf.cast(scale, tf.float32)  # meant
    gradient = tape.gradient(scaled, weight)  # meant
    if tf.math.is_finite(gradient):
        weight.assign_sub(0.1 * gradient / tf.cast(scale, tf.float32))
    else:
        scale.assign(scale / 16.0)
    return loss


losses = [float(train_step()) for _ in range(8)]
assert losses[-1] < losses[0] and np.isfinite(losses).all()
print(losses)
