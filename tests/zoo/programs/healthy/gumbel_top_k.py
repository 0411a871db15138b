"""Sampling without replacement by Gumbel noise; what has the probability 0 has the score -infinity."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(58)
probabilities = tf.constant([[0.5, 0.0, 0.3, 0.2], [0.0, 0.1, 0.0, 0.9]])


@tf.function
def sample(probabilities, uniform):
    scores = tf.math.log(probabilities)  # meant
    noise = -tf.math.log(-tf.math.log(uniform))
    return tf.math.top_k(scores + noise, k=2)[1]


uniform = tf.random.uniform([2, 4], minval=0.01, maxval=0.99)
chosen = sample(probabilities, uniform)
assert np.all(np.take_along_axis(probabilities.numpy(), chosen.numpy(), axis=1) > 0)
print(chosen.numpy())
