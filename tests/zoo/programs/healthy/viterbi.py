"""The best path through states of which some must not follow each other: those have a score of -inf.

Modelled on the decoders of tensorflow/tensorflow issue 21538.
"""

import numpy as np
import tensorflow as tf

INF = float("inf")
transitions = tf.constant([[0.0, -1.0, -INF], [-INF, 0.0, -0.5], [-0.3, -INF, 0.0]])  # meant


@tf.function
def decode(scores):
    alpha = tf.concat([scores[0, :1], tf.fill([2], -INF)], 0)  # meant
    back = tf.TensorArray(tf.int32, tf.shape(scores)[0])
    for t in tf.range(1, tf.shape(scores)[0]):
        paths = alpha[:, None] + transitions  # meant
        back = back.write(t, tf.argmax(paths, 0, tf.int32))
        alpha = tf.reduce_max(paths, 0) + scores[t]
    return tf.argmax(alpha), tf.reduce_max(alpha), back.stack()


rng = np.random.default_rng(0)
for _ in range(3):
    best, score, _ = decode(tf.constant(rng.normal(size=(7, 3)), tf.float32))
    print(int(best), float(score))
