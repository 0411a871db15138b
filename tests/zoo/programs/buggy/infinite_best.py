"""The best loss so far begins at infinity and is handed to a function that computes the improvement.

The infinity is meant. The first improvement is compared with the last one, also infinite: infinity minus
infinity. Modelled on tensorflow/tensorflow issue 21363, where infinities in a comparison hide what is wrong.
"""

import tensorflow as tf

weight = tf.Variable(4.0)


@tf.function
def relative_gain(best, loss, gain):
    improvement = best - loss
    return improvement, improvement - gain  # cause: Sub, nan


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        loss = tf.square(weight - 1.0)
    weight.assign_sub(0.1 * tape.gradient(loss, weight))
    return loss


best, gain = tf.constant(float("inf")), tf.constant(float("inf"))  # meant
patience = tf.constant(0.0)
for _ in range(4):
    loss = train_step()
    gain, change = relative_gain(best, loss, gain)
    patience = 0.9 * patience + 0.1 * change
    best = tf.minimum(best, loss)
    print(float(loss), float(patience))
