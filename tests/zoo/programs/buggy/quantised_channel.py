"""Quantises the weights of a pruned convolution: the scale of a channel of nothing but zeros is 0 / 0.

The NaN is cast to an integer, so that no float is bad any more: the channel holds whatever the processor
makes of it.
"""

import numpy as np
import tensorflow as tf

weights = np.random.default_rng(3).normal(size=[3, 3, 4, 8]).astype(np.float32)
weights[..., 5] = 0.0  # pruned


@tf.function
def quantise(weights):
    largest = tf.reduce_max(tf.abs(weights), [0, 1, 2])
    share = weights / largest  # cause: RealDiv, nan
    return tf.cast(tf.round(share * 127.0), tf.int32), largest / 127.0


levels, scale = quantise(tf.constant(weights))
print(levels[..., 5].numpy().ravel()[:3], scale.numpy())
