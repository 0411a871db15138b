"""A critic with a gradient penalty: the norm of the gradient of its score should be 1.

Behind a dead ReLU that gradient is 0, and the gradient of its norm, taken for the weights, is infinite.
Modelled on tensorflow/tensorflow issue 12071 (gradient of a norm at 0) as it appears in WGAN-GP.
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(39)
samples = tf.constant(np.abs(random.normal(size=[8, 3])), tf.float32)
hidden = tf.Variable(-np.abs(random.normal(size=[3, 4])), dtype=tf.float32)
output = tf.Variable(random.normal(size=[4, 1]), dtype=tf.float32)


def critic(samples):
    return tf.nn.relu(samples @ hidden) @ output


@tf.function
def train_step():
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            inner.watch(samples)
            score = critic(samples)
        slopes = inner.gradient(score, samples)
        norms = tf.sqrt(tf.reduce_sum(tf.square(slopes), axis=1))  # cause: SqrtGrad, inf
        # mended: norms = tf.sqrt(tf.reduce_sum(tf.square(slopes), axis=1) + 1e-10)
        loss = tf.reduce_mean(score) + tf.reduce_mean(tf.square(norms - 1.0))
    gradients = outer.gradient(loss, [hidden, output])
    for variable, gradient in zip([hidden, output], gradients, strict=True):
        variable.assign_sub(0.1 * gradient)
    return loss


for step in range(2):
    print(step, float(train_step()))
