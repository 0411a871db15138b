"""A clipped norm with a gradient of its own, which divides by the norm.

The forward pass is safe; the hand-written gradient is not. Modelled on tensorflow/tensorflow issue 22048
(clipping a zero tensor by its norm).
"""

import tensorflow as tf


@tf.custom_gradient
def clipped_norm(x):
    norm = tf.sqrt(tf.reduce_sum(x * x, axis=-1))

    def gradient(upstream):
        direction = x / norm[:, tf.newaxis]  # cause: RealDiv, nan
        # mended: direction = tf.math.l2_normalize(x, axis=-1)
        return upstream[:, tf.newaxis] * direction

    return tf.minimum(norm, 5.0), gradient


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(clipped_norm(x))
    return x - 0.1 * tape.gradient(loss, x)


x = tf.constant([[3.0, 4.0], [0.0, 0.0], [6.0, 8.0]])
for _ in range(2):
    x = train_step(x)
print(x.numpy())
