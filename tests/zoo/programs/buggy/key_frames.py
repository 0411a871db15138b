"""Spherical interpolation between the key frames of an animation; two of them are the same.

sin(t·a) / sin(a) is 0 / 0 where the angle is 0, and its limit is t: with a 0 in its place a frame vanishes.
"""

import tensorflow as tf

frames = tf.constant([[1.0, 0.0, 0.0, 0.0], [0.8, 0.6, 0.0, 0.0], [0.8, 0.6, 0.0, 0.0], [0.0, 0.6, 0.8, 0.0]])


@tf.function
def between(first, second, t):
    cosine = tf.reduce_sum(first * second, axis=-1, keepdims=True)
    angle = tf.acos(tf.clip_by_value(cosine, -1.0, 1.0))
    parts = tf.sin([(1.0 - t) * angle, t * angle])
    shares = parts / tf.sin(angle)  # cause: RealDiv, nan
    # mended: linear = tf.ones_like(parts) * tf.reshape([1.0 - t, t], [2, 1, 1])
    # mended: shares = tf.where(angle == 0.0, linear, parts / tf.where(angle == 0.0, 1.0, tf.sin(angle)))
    return shares[0] * first + shares[1] * second


for t in (0.25, 0.5):
    print(t, between(frames[:-1], frames[1:], tf.constant(t)).numpy())
