"""Embeddings are divided by their length on look-up; the row of the padding is all zeros.

The mask takes the padding out of the result, but not out of the gradient of the table.
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(116)
start = random.normal(size=[8, 4]).astype("float32")
start[0] = 0.0
table = tf.Variable(start)
sentences = tf.constant([[3, 5, 2, 0], [7, 1, 0, 0]])


def embed(words):
    rows = tf.nn.embedding_lookup(table, words)
    length = tf.sqrt(tf.reduce_sum(rows * rows, axis=-1, keepdims=True))
    return rows / length  # cause: RealDiv, nan


@tf.function
def train_step(words):
    with tf.GradientTape() as tape:
        vectors = tf.where((words != 0)[..., tf.newaxis], embed(words), 0.0)
        loss = -tf.reduce_mean(tf.reduce_sum(vectors, axis=1)[:, 0])
    gradient = tape.gradient(loss, table)
    table.scatter_sub(tf.IndexedSlices(0.1 * gradient.values, gradient.indices))
    return loss


for _ in range(3):
    print(float(train_step(sentences)))
