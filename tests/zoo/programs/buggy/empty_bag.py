"""The mean of the embeddings of what a user clicked; a new user clicked nothing.

Modelled on tensorflow/tensorflow issue 36359 (the mean combiner of embedding_lookup_sparse divides by 0).
"""

import tensorflow as tf

tf.random.set_seed(19)
embeddings = tf.Variable(tf.random.normal([20, 4]))
clicks = tf.ragged.constant([[3, 7, 7], [1], [], [12, 5]])


def mean_of_bag(clicks):
    rows = tf.nn.embedding_lookup(embeddings, clicks.values)
    totals = tf.math.segment_sum(rows, clicks.value_rowids())
    counts = tf.cast(clicks.row_lengths(), tf.float32)
    return totals / counts[:, tf.newaxis]  # cause: RealDiv, nan


@tf.function
def scores(clicks, item):
    users = mean_of_bag(clicks)
    return tf.sigmoid(tf.linalg.matvec(users, embeddings[item]))


for item in [2, 9]:
    print(scores(clicks, tf.constant(item)).numpy())
