"""Whitening with the variance computed as the mean of squares minus the square of the mean.

A constant picture has the variance 0, but rounding makes it negative, and its square root NaN. Modelled on
tensorflow/tensorflow issue 411 (per_image_whitening returns NaN for uniform pictures).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(13)
pictures = random.uniform(0, 255, size=[4, 19, 19, 3]).astype("float32")
pictures[2] = 200.1


@tf.function
def whiten(picture):
    mean = tf.reduce_mean(picture)
    variance = tf.reduce_mean(picture * picture) - mean * mean
    deviation = tf.sqrt(variance)  # cause: Sqrt, nan
    # mended: deviation = tf.math.reduce_std(picture)
    return (picture - mean) / tf.maximum(deviation, 1e-3)


for picture in pictures:
    print(float(tf.reduce_max(whiten(tf.constant(picture)))))
