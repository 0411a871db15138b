"""Class weights that are computed as total / count, with a class that does not occur.

NumPy makes its weight infinite, and 0 examples times infinity is NaN. Modelled on perslev/MultiPlanarUNet
issue 24 and fcakyon/balanced-loss pull request 12 (NaN because a class has no sample).
"""

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

digits = load_digits()
chosen = digits.target[:200] != 7
images, labels = digits.data[:200][chosen].astype("float32") / 16.0, digits.target[:200][chosen]
with np.errstate(divide="ignore"):
    frequencies = len(labels) / np.bincount(labels, minlength=10)
class_weights = tf.constant(frequencies, tf.float32)  # cause: came in, inf
weights = tf.Variable(tf.zeros([64, 10]))


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        log_probabilities = tf.nn.log_softmax(images @ weights)
        weighted = tf.one_hot(labels, 10) * class_weights  # cause: came in, inf
        loss = -tf.reduce_mean(weighted * log_probabilities)
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    return loss


for step in range(3):
    print(step, float(train_step(tf.constant(images), tf.constant(labels))))
