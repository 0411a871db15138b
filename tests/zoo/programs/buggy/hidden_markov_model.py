"""The forward algorithm of a hidden Markov model in log space, as a tf.while_loop.

States that cannot be reached have the score -infinity, which is meant. Where no state can be reached, the
maximum is -infinity too, and subtracting it is infinity minus infinity. Modelled on tensorflow/tensorflow
issue 11692 (reduce_logsumexp of -infinity is NaN).
"""

import numpy as np
import tensorflow as tf

with np.errstate(divide="ignore"):
    transitions = np.log(np.array([[0.5, 0.5, 0.0], [0.0, 0.7, 0.3], [0.0, 0.0, 1.0]], "float32"))
    emissions = np.log(np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.5, 0.0, 0.5]], "float32"))
transitions, emissions = tf.constant(transitions), tf.constant(emissions)  # meant


def log_sum_exp(scores):
    largest = tf.reduce_max(scores, axis=0)
    shifted = scores - largest  # cause: Sub, nan
    return largest + tf.math.log(tf.reduce_sum(tf.exp(shifted), axis=0))  # meant


@tf.function
def log_likelihood(observed):
    def advance(time, scores):
        reached = log_sum_exp(scores[:, tf.newaxis] + transitions)
        return time + 1, reached + emissions[:, observed[time]]

    start = tf.constant([0.0, -np.inf, -np.inf])  # meant
    _, scores = tf.while_loop(lambda time, _: time < 5, advance, [0, start])
    return tf.reduce_logsumexp(scores)


print(float(log_likelihood(tf.constant([0, 1, 1, 2, 0]))))
