"""Gradients are clipped by their global norm, whose squares overflow before it can help.

Modelled on tensorflow/tensorflow issue 21363 and pull request 27733: an infinite norm makes NaN of all
gradients.
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(114)
kernel = tf.Variable(random.normal(size=[4, 4]).astype("float32"))
bias = tf.Variable(tf.zeros([4]))
batches = [random.normal(size=[8, 4]).astype("float32") for _ in range(3)]
batches[1][2, 3] = 3e10


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x @ kernel + bias))
    gradients = tape.gradient(loss, [kernel, bias])
    gradients, _ = tf.clip_by_global_norm(gradients, 1.0)  # cause: L2Loss, inf
    for variable, gradient in zip([kernel, bias], gradients, strict=True):
        variable.assign_sub(0.01 * gradient)
    return loss


for x in batches:
    print(float(train_step(tf.constant(x))))
