"""The linear regression of the first tutorials, with inputs up to 99 instead of 1.

The weight changes its sign and grows with each step, until the loss overflows. Modelled on
tensorflow/tensorflow issue 3148 (the demo of linear regression gives NaN when the data are a range).
"""

import numpy as np
import tensorflow as tf

x = tf.constant(np.arange(100), tf.float32)
y = 0.1 * x + 0.3
weight = tf.Variable(0.5)
bias = tf.Variable(0.0)


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        error = weight * x + bias - y
        loss = tf.reduce_mean(error * error)  # cause: Mean|Mul, inf
    gradients = tape.gradient(loss, [weight, bias])
    weight.assign_sub(0.5 * gradients[0])
    bias.assign_sub(0.5 * gradients[1])
    return loss


for step in range(12):
    print(step, float(train_step()), float(weight))
