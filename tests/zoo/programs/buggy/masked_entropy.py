"""The entropy of a policy with forbidden actions: the sum of p * log(p).

The probability of a forbidden action is 0 and its logarithm -infinity, both meant; their product is NaN.
Modelled on keras-team/keras issue 19520 and google-deepmind/optax pull request 1786 (0 times the log of a
masked logit).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(34)
observations = tf.constant(random.normal(size=[6, 3]), tf.float32)
kernel = tf.Variable(random.normal(size=[3, 4]), dtype=tf.float32)
mask = tf.constant([0.0, 0.0, -np.inf, 0.0])  # meant


@tf.function
def entropy(observations):
    logits = observations @ kernel + mask
    log_probabilities = tf.nn.log_softmax(logits)
    terms = tf.exp(log_probabilities) * log_probabilities  # cause: Mul, nan
    return -tf.reduce_sum(terms, axis=-1)


print(entropy(observations).numpy())
