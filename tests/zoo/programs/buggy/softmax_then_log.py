"""A digit classifier whose loss is the logarithm of a softmax.

One wrong digit with a large logit is enough: its probability underflows to 0, the logarithm is -infinity, and
0 times infinity makes every weight NaN. Modelled on keras-team/keras pull request 9 (categorical cross
entropy is infinite when a probability is 0).
"""

import tensorflow as tf
from sklearn.datasets import load_digits

tf.random.set_seed(1)
digits = load_digits()
images = tf.constant(digits.data[:256], tf.float32)
labels = tf.one_hot(digits.target[:256], 10)
weights = tf.Variable(tf.random.normal([64, 10], stddev=0.1))
bias = tf.Variable(tf.zeros([10]))


def cross_entropy(labels, logits):
    probabilities = tf.nn.softmax(logits)
    log_probabilities = tf.math.log(probabilities)  # cause: Log, inf
    return -tf.reduce_mean(tf.reduce_sum(labels * log_probabilities, axis=1))


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        loss = cross_entropy(labels, images @ weights + bias)
    for variable, gradient in zip([weights, bias], tape.gradient(loss, [weights, bias]), strict=True):
        variable.assign_sub(0.5 * gradient)
    return loss


for step in range(8):
    start = step * 32
    print(step, float(train_step(images[start : start + 32], labels[start : start + 32])))
