"""The optical density of a picture, -log((pixel + 1) / 256): in uint8, 255 + 1 is 0."""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(201)
pictures = random.integers(0, 250, size=[3, 6, 6]).astype("uint8")
pictures[1, 2, 3] = 255


@tf.function
def density(picture):
    counts = tf.cast(picture + 1, tf.float32)
    # mended: counts = tf.cast(picture, tf.float32) + 1.0
    return -tf.math.log(counts / 256.0)  # cause: Log, inf


for picture in pictures:
    print(float(tf.reduce_mean(density(tf.constant(picture)))))
