"""A distance is kept above an epsilon, but after the root, whose gradient at 0 is 0 times infinity.

Modelled on keras-team/keras pull request 23093 (a minimum after rsqrt does not undo its gradient).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(126)
centres = tf.Variable(random.normal(size=[3, 2]).astype("float32"))
points = tf.concat([random.normal(size=[5, 2]).astype("float32"), centres[:1]], axis=0)


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        squared = tf.reduce_sum(tf.square(points[:, tf.newaxis] - centres), axis=-1)
        distance = tf.maximum(squared**0.5, 1e-6)  # cause: Pow, inf
        # mended: distance = tf.sqrt(tf.maximum(squared, 1e-12))
        loss = tf.reduce_mean(tf.reduce_min(distance, axis=1))
    centres.assign_sub(0.1 * tape.gradient(loss, centres))
    return loss


for _ in range(3):
    print(float(train_step()))
