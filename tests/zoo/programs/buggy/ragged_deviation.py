"""The spread of each user's ratings as a loss, from a ragged tensor; one user always gives the same rating.

The deviation of equal numbers is 0, and the gradient of its root is infinite.
"""

import tensorflow as tf

scale = tf.Variable([1.0, 1.5])
ratings = tf.RaggedTensor.from_row_lengths([3.0, 4.5, 1.0, 2.0, 2.0, 4.0, 1.0], [3, 2, 2])


@tf.function
def train_step(ratings):
    with tf.GradientTape() as tape:
        spread = tf.math.reduce_std(ratings * scale[0], axis=1)  # cause: SqrtGrad, inf
        # mended: spread = tf.sqrt(tf.math.reduce_variance(ratings * scale[0], axis=1) + 1e-10)
        loss = tf.reduce_mean(tf.square(spread - scale[1]))
    scale.assign_sub(0.1 * tape.gradient(loss, scale))
    return loss


print(float(train_step(ratings)), float(train_step(ratings)))
