"""Beam search: beams that have not begun or that are finished have the score -infinity."""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(55)
transitions = tf.nn.log_softmax(tf.constant(random.normal(size=[6, 6]), tf.float32))
forbidden = tf.constant([False, False, True, False, False, False])


@tf.function
def step(words, scores):
    candidates = scores[:, tf.newaxis] + tf.gather(transitions, words)  # meant
    candidates = tf.where(forbidden, float("-inf"), candidates)  # meant
    best, index = tf.math.top_k(tf.reshape(candidates, [-1]), k=3)
    return index % 6, best


words, scores = tf.constant([0, 0, 0]), tf.constant([0.0, float("-inf"), float("-inf")])  # meant
for _ in range(5):
    words, scores = step(words, scores)
assert np.isfinite(scores).all()
print(words.numpy(), scores.numpy())
