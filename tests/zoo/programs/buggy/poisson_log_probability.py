"""The log likelihood of counts under a Poisson model whose rate is a ReLU.

Where the rate is 0 its logarithm is -infinity, and a count of 0 times that is NaN. Modelled on
tensorflow/probability issue 1738 (log_prob on the border of the support) and google-deepmind/optax pull
request 1786.
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(61)
features = tf.constant(random.normal(size=[30, 3]), tf.float32)
counts = tf.constant(random.poisson(0.7, size=[30]), tf.float32)
kernel = tf.Variable([[0.5], [1.0], [-0.5]])


class Poisson:
    def __init__(self, rate):
        self.rate = rate

    def log_prob(self, count):
        return count * tf.math.log(self.rate) - self.rate - tf.math.lgamma(count + 1.0)  # cause: Log, inf


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        distribution = Poisson(tf.nn.relu(tf.squeeze(features @ kernel, 1)))
        loss = -tf.reduce_mean(distribution.log_prob(counts))
    kernel.assign_sub(0.1 * tape.gradient(loss, kernel))
    return loss


for step in range(3):
    print(step, float(train_step()))
