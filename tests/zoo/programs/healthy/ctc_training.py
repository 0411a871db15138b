"""The CTC loss: its forward and backward sums are full of -inf for paths that cannot be.

Modelled on tensorflow/tensorflow issue 41353.
"""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
w = tf.Variable(tf.random.stateless_normal([6, 5], [1, 2]))


@tf.function
def step(x, labels, label_length, length):
    with tf.GradientTape() as tape:
        logits = tf.einsum("tbi,ij->tbj", x, w)
        loss = tf.reduce_mean(tf.nn.ctc_loss(labels, logits, label_length, length, blank_index=0))  # meant
    w.assign_sub(0.01 * tape.gradient(loss, w))
    return loss


for _ in range(3):
    x = tf.constant(rng.normal(size=(10, 4, 6)), tf.float32)
    print(
        float(
            step(
                x,
                tf.constant([[1, 2, 3], [2, 2, 1], [4, 1, 0], [3, 0, 0]]),
                tf.constant([3, 3, 2, 1]),
                tf.constant([10, 9, 8, 10]),
            )
        )
    )
