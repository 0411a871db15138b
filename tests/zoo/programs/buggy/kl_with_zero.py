"""The divergence between two histograms of which one has an empty bin.

0 * log(0 / q) should be 0, but the logarithm is -infinity. Modelled on google-deepmind/optax pull request 473
and keras-team/keras issue 19520 (Kullback-Leibler divergence of distributions with zeros).
"""

import tensorflow as tf

observed = tf.constant([[0.2, 0.5, 0.3], [0.6, 0.0, 0.4]])
logits = tf.Variable([[0.1, 0.2, 0.3], [0.0, 0.0, 0.0]])


def divergence(p, q):
    return tf.reduce_sum(p * tf.math.log(p / q), axis=-1)  # cause: Log, inf
    # mended: return tf.reduce_sum(tf.math.multiply_no_nan(tf.math.log(p) - tf.math.log(q), p), axis=-1)


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(divergence(observed, tf.nn.softmax(logits)))
    logits.assign_sub(0.5 * tape.gradient(loss, logits))
    return loss


for step in range(3):
    print(step, float(train_step()))
