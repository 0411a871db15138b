"""Adam with an epsilon of 0, and an embedding row that no batch has used yet.

Its moments are 0, and 0 / sqrt(0) is NaN. Modelled on tensorflow/tensorflow issue 323 and keras-team/keras
issue 11860 (NaN with Adam when epsilon is 0, or is rounded to it).
"""

import keras
import tensorflow as tf

table = tf.Variable(tf.ones([5, 2]))
optimizer = keras.optimizers.Adam(0.1, epsilon=0.0)


@tf.function
def train_step(words):
    with tf.GradientTape() as tape:
        used = tf.one_hot(words, 5) @ table
        loss = tf.reduce_sum((used - 3.0) ** 2)
    optimizer.apply(tape.gradient(loss, [table]), [table])  # cause: RealDiv, nan
    return loss


for step, words in enumerate([[0, 1], [1, 2], [2, 4]]):
    print(step, float(train_step(tf.constant(words))))
