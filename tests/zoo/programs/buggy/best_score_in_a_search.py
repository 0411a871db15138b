"""A search over learning rates that remembers the best loss, infinite at first, and normalises the losses by
it.

The first normalised loss is loss / infinity = 0, as is the best of them; 0 / 0 follows. The infinity is
meant, the division is not. Modelled on tensorflow/tensorflow issue 36359 (a division by a sum that can be 0).
"""

import tensorflow as tf

best = tf.Variable(float("inf"))  # meant


@tf.function
def train(rate):
    weight = tf.constant(3.0)
    for _ in tf.range(10):
        weight = weight - rate * 2.0 * weight
    return weight * weight + 0.01


@tf.function
def compare(losses):
    relative = losses / best  # meant
    best.assign(tf.reduce_min(losses))
    return relative / tf.reduce_max(relative)  # cause: RealDiv, nan


for rates in [[0.1, 0.2], [0.3, 0.4]]:
    losses = tf.stack([train(tf.constant(rate)) for rate in rates])
    print(losses.numpy(), compare(losses).numpy())
