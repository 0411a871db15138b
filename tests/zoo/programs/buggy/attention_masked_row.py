"""Attention with padding masked by -infinity, and one sentence that is empty.

The -infinity of the mask is meant. But a softmax over nothing else is 0 / 0. Modelled on pytorch/pytorch pull
request 131060 and keras-team/keras issue 16108 (NaN in attention where everything is masked).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(16)
queries = tf.constant(random.normal(size=[3, 4, 8]), tf.float32)
keys = tf.constant(random.normal(size=[3, 4, 8]), tf.float32)
lengths = tf.constant([4, 2, 0])


@tf.function
def attend(queries, keys, lengths):
    scores = tf.matmul(queries, keys, transpose_b=True) / tf.sqrt(8.0)
    is_padding = tf.logical_not(tf.sequence_mask(lengths, 4))[:, tf.newaxis, :]
    masked = tf.where(is_padding, float("-inf"), scores)  # meant
    weights = tf.nn.softmax(masked)  # cause: Softmax, nan
    # mended: weights = tf.where(is_padding, 0.0, tf.nn.softmax(tf.where(is_padding, -1e9, scores)))
    return tf.matmul(weights, keys)


print(tf.reduce_mean(attend(queries, keys, lengths), axis=[1, 2]).numpy())
