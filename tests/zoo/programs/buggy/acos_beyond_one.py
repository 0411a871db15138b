"""The angle between two embeddings, as the arc cosine of the product of their unit vectors.

Rounding makes the cosine of equal vectors a little larger than 1. Modelled on papagina/RotationContinuity
issue 1 and geomstats/geomstats issue 160 (the cosine has to be clipped before acos).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(31)
embeddings = tf.constant(random.normal(size=[40, 5]), tf.float32)


@tf.function
def unit(vectors):
    return vectors * tf.math.rsqrt(tf.reduce_sum(vectors * vectors, axis=1, keepdims=True))


@tf.function
def angles(a, b):
    cosine = tf.reduce_sum(unit(a) * unit(b), axis=1)
    return tf.acos(cosine)  # cause: Acos, nan
    # mended: return tf.acos(tf.clip_by_value(cosine, -1.0, 1.0))


for shift in [1, 0]:
    print(shift, float(tf.reduce_mean(angles(embeddings, tf.roll(embeddings, shift, axis=0)))))
