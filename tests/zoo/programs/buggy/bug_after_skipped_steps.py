"""Loss scaling that begins too high and skips its first steps, as it should; and an empty example later.

The infinite gradients of the first steps are meant. In the 13th batch an example is all zeros and is divided
by its length. Modelled on keras-team/keras issue 16552 (mixed precision and NaN) and issue 828 (examples of
zeros).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(73)
batches = random.normal(size=[16, 8, 4])
batches[12, 3] = 0.0
targets = tf.constant(random.normal(size=[8, 1]), tf.float32)
master = tf.Variable(tf.zeros([4, 1]))
scale = tf.Variable(2.0**20)


def normalize(x):
    length = tf.sqrt(tf.reduce_sum(x * x, axis=1, keepdims=True))
    return x / length  # cause: RealDiv, nan
    # mended: return x / tf.where(length > 0.0, length, tf.ones_like(length))


@tf.function
def train_step(batch):
    weights = tf.cast(master, tf.float16)
    with tf.GradientTape() as tape:
        tape.watch(weights)
        outputs = normalize(batch) @ weights  # meant
        loss = tf.reduce_mean(tf.abs(tf.cast(outputs, tf.float32) - targets))  # meant
        scaled = loss * scale
    gradient = tf.cast(tape.gradient(scaled, weights), tf.float32) / scale
    if tf.reduce_all(tf.math.is_finite(gradient)):
        master.assign_sub(0.1 * gradient)
    else:
        scale.assign(scale / 2.0)
    return loss


for batch in batches:
    print(float(train_step(tf.constant(batch, tf.float16))), float(scale))
