"""A model of another scale is only asked for predictions: the exponential of its output overflows.

Nothing is trained here, so that no learning rate can be the cause.
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(204)
kernel = tf.constant(random.normal(size=[4, 4]), tf.float32)


@tf.function
def forecast(amounts):
    for _ in range(4):
        amounts = tf.square(amounts @ kernel)  # cause: Square, inf
    return tf.reduce_mean(amounts)


for scale in (0.1, 1e4):
    print(float(forecast(tf.constant(random.normal(size=[3, 4]) * scale, tf.float32))))
