"""One cell of a table is missing, and its row is the 37th of the input pipeline.

Nothing is wrong with the model. Modelled on danielegrattarola/keras-gat issue 14 (the loss is NaN because a
data set has missing values).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(10)
table = random.normal(size=[64, 5]).astype("float32")
table[36, 2] = np.nan
targets = random.normal(size=[64, 1]).astype("float32")

dataset = tf.data.Dataset.from_tensor_slices((table, targets)).batch(8)  # cause: came in, nan
weights = tf.Variable(tf.zeros([5, 1]))


@tf.function
def train_step(features, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(features @ weights - targets))
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    return loss


for features, batch_targets in dataset:  # cause: came in, nan
    print(float(train_step(features, batch_targets)))
