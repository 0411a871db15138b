"""The forward algorithm of a conditional random field in tf.scan, with exp and log instead of logsumexp.

Forbidden transitions are -infinity, which is right. When all scores of a step are far below 0, their
exponentials are 0, and so is their sum.
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(104)
NEVER = -np.inf
transitions = tf.constant([[0.5, 0.1, NEVER], [0.2, 0.3, 0.1], [NEVER, 0.4, 0.2]], tf.float32)  # meant


def advance(alpha, emission):
    scores = alpha[:, tf.newaxis] + transitions + emission[tf.newaxis, :]  # meant
    return tf.math.log(tf.reduce_sum(tf.exp(scores), axis=0))  # cause: Log, inf
    # mended: return tf.reduce_logsumexp(scores, axis=0)


@tf.function
def log_partition(emissions):
    alphas = tf.scan(advance, emissions[1:], emissions[0])
    return tf.reduce_logsumexp(alphas[-1])


for length in (4, 8, 40):
    emissions = tf.constant(random.normal(size=[length, 3]) - 4.0, tf.float32)
    print(float(log_partition(emissions)))
