"""Attention that goes over the keys block by block: the largest score so far begins at -infinity."""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(153)
queries = tf.constant(random.normal(size=[6, 4]), tf.float32)
keys = tf.constant(random.normal(size=[12, 4]), tf.float32)
values = tf.constant(random.normal(size=[12, 3]), tf.float32)


@tf.function
def attend(queries, keys, values):
    largest = tf.fill([6, 1], -np.inf)  # meant
    total, result = tf.zeros([6, 1]), tf.zeros([6, 3])
    for block in tf.range(0, 12, 4):
        scores = tf.matmul(queries, keys[block : block + 4], transpose_b=True)
        larger = tf.maximum(largest, tf.reduce_max(scores, axis=1, keepdims=True))
        shrink = tf.exp(largest - larger)  # meant
        weights = tf.exp(scores - larger)
        total = total * shrink + tf.reduce_sum(weights, axis=1, keepdims=True)
        result = result * shrink + weights @ values[block : block + 4]
        largest = larger
    return result / total


attended = attend(queries, keys, values)
whole = tf.nn.softmax(tf.matmul(queries, keys, transpose_b=True)) @ values
assert np.allclose(attended, whole, atol=1e-5)
print(attended.numpy()[0])
