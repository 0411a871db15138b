"""An input pipeline that standardises each column of the digits.

The pixel in the corner is always black: its standard deviation is 0, and 0 / 0 is NaN. Modelled on
keras-team/keras issue 20011 (a variance of 0 in a normalisation layer; found with pictures of digits).
"""

import tensorflow as tf
from sklearn.datasets import load_digits

digits = load_digits()
pixels = digits.data[:100].astype("float32")
mean, deviation = pixels.mean(axis=0), pixels.std(axis=0)


def standardize(pixels, label):
    return (pixels - mean) / deviation, label  # cause: RealDiv, nan


dataset = tf.data.Dataset.from_tensor_slices((pixels, digits.target[:100])).map(standardize).batch(20)
weights = tf.Variable(tf.zeros([64, 10]))


@tf.function
def train_step(pixels, labels):
    with tf.GradientTape() as tape:
        logits = pixels @ weights
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    return loss


for pixels, labels in dataset:
    print(float(train_step(pixels, labels)))
