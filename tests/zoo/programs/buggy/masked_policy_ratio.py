"""The ratio of two policies whose forbidden actions have the logit -infinity.

For a forbidden action the difference of the log probabilities is infinity minus infinity. The mask is meant.
Modelled on pytorch/pytorch issue 31829 (log_softmax at -infinity) as it appears with action masks.
"""

import tensorflow as tf

allowed = tf.constant([[True, True, False, True], [False, True, True, True]])
old_logits = tf.constant([[0.1, 0.4, 2.0, -1.0], [1.0, 0.3, 0.2, 0.9]])
logits = tf.Variable([[0.2, 0.3, 1.0, -0.5], [0.8, 0.1, 0.4, 1.0]])


def masked_log_softmax(logits):
    return tf.nn.log_softmax(tf.where(allowed, logits, float("-inf")))  # meant


@tf.function
def divergence():
    new, old = masked_log_softmax(logits), masked_log_softmax(old_logits)
    difference = new - old  # cause: Sub, nan
    return tf.reduce_mean(tf.abs(difference))


print(float(divergence()))
