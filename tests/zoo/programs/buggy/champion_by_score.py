"""Chooses the best of several models by mean over spread: a model with one fold has a spread of 0 / 0.

A comparison and an argmax read the NaN: all that leaves the function is an index and a truth value, and the
choice is whatever they make of it.
"""

import tensorflow as tf


@tf.function
def champion(scores, folds):
    mean = tf.reduce_sum(scores, 1) / folds
    total = tf.reduce_sum((scores - mean[:, None]) ** 2, 1)
    spread = tf.sqrt(total / (folds - folds))  # cause: RealDiv, nan|inf
    sharpness = mean / (1.0 + spread)
    return tf.argmax(sharpness), sharpness > 0.5


scores = tf.constant([[0.7, 0.7, 0.7], [0.9, 0.9, 0.9], [0.4, 0.4, 0.4]])
best, good = champion(scores, tf.constant([3.0, 3.0, 3.0]))
print(int(best), good.numpy())
