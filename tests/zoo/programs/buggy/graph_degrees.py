"""A graph convolution with a sparse adjacency that is normalised by degree ** -0.5; one node has no edge.

Modelled on the issues of graph network libraries about isolated nodes without self loops.
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(111)
edges = tf.constant([[0, 1], [1, 0], [1, 2], [2, 1], [4, 4]], tf.int64)
adjacency = tf.sparse.SparseTensor(edges, tf.ones([5]), [5, 5])
features = tf.constant(random.normal(size=[5, 3]), tf.float32)
kernel = tf.Variable(random.normal(size=[3, 2]).astype("float32"))


def convolve(adjacency, x):
    degree = tf.sparse.reduce_sum(adjacency, axis=1)
    scale = tf.pow(degree, -0.5)[:, tf.newaxis]  # cause: Pow, inf
    return scale * tf.sparse.sparse_dense_matmul(adjacency, scale * x)


for _ in range(2):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(convolve(adjacency, features) @ kernel - 1.0))
    kernel.assign_sub(0.1 * tape.gradient(loss, kernel))
    print(float(loss))
