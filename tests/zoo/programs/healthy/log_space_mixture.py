"""A mixture model in log space whose components may have no weight: log(0) in reduce_logsumexp."""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(59)
samples = tf.constant(random.normal(size=[20, 1]), tf.float32)
means = tf.Variable([-1.0, 0.5, 2.0])
shares = tf.constant([0.4, 0.6, 0.0])


@tf.function
def log_likelihood():
    log_shares = tf.math.log(shares)  # meant
    log_densities = -0.5 * tf.square(samples - means)
    return tf.reduce_mean(tf.reduce_logsumexp(log_shares + log_densities, axis=1))  # meant


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        loss = -log_likelihood()
    means.assign_sub(0.1 * tape.gradient(loss, means))
    return loss


losses = [float(train_step()) for _ in range(5)]
assert np.isfinite(losses).all() and np.isfinite(means).all()
print(losses, means.numpy())
