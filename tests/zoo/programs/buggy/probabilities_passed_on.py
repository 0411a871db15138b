"""A cross-entropy of its own gets probabilities from another function, as in the example of the first guide.

What is clipped has no gradient: with the usual bound of 1e-7 the training stands still where it is wrong.
"""

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

tf.keras.utils.set_random_seed(207)
digits = load_digits()
images, labels = digits.data[:200].astype("float32"), tf.one_hot(digits.target[:200], 10)
kernel = tf.Variable(np.random.default_rng(207).normal(size=[64, 10]) * 0.25, dtype=tf.float32)


@tf.function
def probabilities_of(images):
    return tf.nn.softmax(images @ kernel)


@tf.function
def cross_entropy(probs, labels):
    log_probs = tf.math.log(probs)  # cause: Log, inf
    # mended: log_probs = tf.math.log(tf.where(probs > 1e-37, probs, 1e-37))
    return tf.reduce_mean(-tf.reduce_sum(labels * log_probs, axis=1))


for step in range(12):
    with tf.GradientTape() as tape:
        loss = cross_entropy(probabilities_of(images), labels)
    kernel.assign_sub(0.02 * tape.gradient(loss, kernel))
    if step % 4 == 3:
        print(step, float(loss))
