"""The mean of many float16 numbers, as a sum that is divided afterwards.

The sum of 2000 numbers near 50 is beyond 65504. Modelled on tensorflow/tensorflow issue 38457 (NaN loss with
float16) and on the usual advice to accumulate in float32.
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(9)
losses = tf.constant(random.uniform(40.0, 60.0, size=[3, 2000]), tf.float16)


@tf.function
def mean_loss(losses):
    total = tf.reduce_sum(losses)  # cause: Sum, inf
    return total / tf.cast(tf.size(losses), tf.float16)


baseline = tf.Variable(0.0)
for row in losses:
    loss = tf.cast(mean_loss(row), tf.float32)
    baseline.assign(0.9 * baseline + 0.1 * loss)
    print(float(loss), float(loss - baseline))
