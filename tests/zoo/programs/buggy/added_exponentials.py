"""The log-likelihood of a mixture of three, written as the log of three exponentials that are added."""

import tensorflow as tf

means = tf.Variable([-1.0, 0.5, 2.0])


def log_density(x, mean):
    return -0.5 * tf.square(x - mean)


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        a, b, c = (log_density(x, means[number]) for number in range(3))
        likelihood = tf.math.log(tf.exp(a) + tf.exp(b) + tf.exp(c))  # cause: Log, inf
        # mended: likelihood = tf.reduce_logsumexp(tf.stack([a, b, c]), axis=0)
        loss = -tf.reduce_mean(likelihood)
    means.assign_sub(0.01 * tape.gradient(loss, means))
    return loss


for batch in ([0.1, 1.5, -2.0], [0.3, 25.0, 1.0]):
    print(float(train_step(tf.constant(batch))), means.numpy())
