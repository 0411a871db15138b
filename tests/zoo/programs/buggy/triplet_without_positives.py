"""A semi-hard triplet loss, divided by the number of positive pairs in the batch.

In the third batch all labels differ. Modelled on tensorflow/addons issue 2447 and tensorflow/tensorflow issue
20253 (triplet_semihard_loss is NaN without positives).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(36)
embeddings = tf.Variable(random.normal(size=[4, 6, 3]), dtype=tf.float32)
labels = tf.constant([[0, 0, 1, 1, 2, 2], [1, 1, 1, 2, 2, 0], [0, 1, 2, 3, 4, 5], [3, 3, 0, 0, 1, 2]])


@tf.function
def pairwise(x):
    return tf.reduce_sum(tf.square(x[:, tf.newaxis] - x), axis=-1)


@tf.function
def pair_loss(x, labels):
    same = tf.cast(labels[:, tf.newaxis] == labels, tf.float32) - tf.eye(6)
    return tf.reduce_sum(pairwise(x) * same) / tf.reduce_sum(same)  # cause: RealDiv, nan
    # mended: return tf.reduce_sum(pairwise(x) * same) / tf.maximum(tf.reduce_sum(same), 1.0)


for step in range(4):
    with tf.GradientTape() as tape:
        loss = pair_loss(embeddings[step], labels[step])
    gradient = tf.convert_to_tensor(tape.gradient(loss, embeddings))
    embeddings.assign_sub(0.1 * gradient)
    print(step, float(loss))
