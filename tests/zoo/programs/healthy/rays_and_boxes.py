"""Rays meet boxes by the slab method, which divides by the direction: rays along an axis have 1 / 0."""

import numpy as np
import tensorflow as tf

origins = tf.constant([[-3.0, 0.5, 0.5], [0.5, 0.5, -2.0], [-3.0, 4.0, 0.5]])
directions = tf.constant([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])


@tf.function
def hits(origins, directions):
    inverse = 1.0 / directions  # meant
    near, far = (0.0 - origins) * inverse, (1.0 - origins) * inverse  # meant
    entry = tf.reduce_max(tf.minimum(near, far), axis=1)  # meant
    leave = tf.reduce_min(tf.maximum(near, far), axis=1)  # meant
    return tf.where(entry <= leave, entry, -1.0)


distances = hits(origins, directions)
assert np.allclose(distances, [3.0, 2.0, -1.0])
print(distances.numpy())
