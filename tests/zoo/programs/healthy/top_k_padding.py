"""The best items of users with different numbers of candidates: the rest is padded with -infinity."""

import numpy as np
import tensorflow as tf

candidates = tf.ragged.constant([[0.3, 0.9, 0.1], [0.7], [0.2, 0.4, 0.6, 0.8]])


@tf.function
def best(candidates):
    padded = candidates.to_tensor(default_value=-np.inf)  # meant
    scores, items = tf.math.top_k(padded, k=2)
    is_item = scores > -np.inf  # meant
    return tf.where(is_item, scores, 0.0), tf.where(is_item, items, -1)


scores, items = best(candidates)
assert np.isfinite(scores).all()
print(scores.numpy(), items.numpy())
