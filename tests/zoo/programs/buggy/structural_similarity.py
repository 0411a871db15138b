"""Structural similarity over scales as the loss of a small model; the pictures are unlike, and a factor is 0.

TensorFlow clips a negative factor to 0 and raises it to a power below 1, whose gradient is infinite there.
Modelled on tensorflow/tensorflow issues about NaN from `ssim_multiscale`.
"""

import numpy as np
import tensorflow as tf

y, x = np.mgrid[0:64, 0:64]
target = tf.constant((x + y) % 2, tf.float32)[tf.newaxis, ..., tf.newaxis]
contrast = tf.Variable(0.5)


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        picture = 0.5 - contrast * (target - 0.5)
        similarity = tf.image.ssim_multiscale(  # cause: Pow, inf
            picture, target, max_val=1.0, filter_size=3
        )
        loss = 1.0 - tf.reduce_mean(similarity)
    contrast.assign_sub(0.1 * tape.gradient(loss, contrast))
    return loss


print(float(train_step()), float(train_step()))
