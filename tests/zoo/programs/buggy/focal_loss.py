"""A focal loss with an exponent below 1: the power has an infinite gradient where the probability is 1.

Modelled on liuyuisanai/Focal-Loss issue 11.
"""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)


def focal(y, logits):
    p = tf.sigmoid(logits)
    pt = tf.where(y > 0.5, p, 1.0 - p)
    return tf.reduce_mean(-tf.pow(1.0 - pt, 0.5) * tf.math.log(pt + 1e-7))  # cause: Pow|Mul, nan|inf
    # mended: is_open = pt < 1.0
    # mended: focus = tf.where(is_open, tf.sqrt(tf.where(is_open, 1.0 - pt, 1.0)), 0.0)
    # mended: return tf.reduce_mean(-focus * tf.math.log(pt + 1e-7))


kernel = tf.Variable(tf.ones([2, 1]))


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = focal(y, x @ kernel)
    kernel.assign_sub(0.5 * tape.gradient(loss, kernel))
    return loss


rng = np.random.default_rng(0)
for i in range(4):
    x = rng.normal(size=(8, 2)).astype("float32") * (1 if i < 2 else 30)
    print(i, float(step(x, tf.constant((x.sum(1, keepdims=True) > 0).astype("float32")))))
