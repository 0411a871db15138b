"""An outlier in one batch, with Adam.

The gradient of the outlier is 1e20 and its square is infinite: the second moment of that weight is bad from
then on, although the loss looks right for another step. Then infinity minus infinity makes it NaN. Modelled
on tensorflow/tensorflow issue 323 (training with Adam fails after a while).
"""

import keras
import numpy as np
import tensorflow as tf

random = np.random.default_rng(11)
inputs = random.normal(size=[6, 16, 3]).astype("float32")
targets = random.normal(size=[6, 16, 1]).astype("float32")
inputs[2, 5, 1] = 1e20
weights = tf.Variable(tf.zeros([3, 1]))
optimizer = keras.optimizers.Adam(0.01)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.abs(x @ weights - y))
    gradient = tape.gradient(loss, weights)
    optimizer.apply([gradient], [weights])  # cause: Square, inf
    return tf.reduce_mean(tf.abs(weights))


for step in range(6):
    print(step, float(train_step(inputs[step], targets[step])))
