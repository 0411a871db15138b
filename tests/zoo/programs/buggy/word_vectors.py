"""Word vectors of a file become a variable; one number of the file is missing and was read as NaN."""

import io

import numpy as np
import tensorflow as tf

FILE = """the 0.4 0.1 -0.3
cat 0.2 nan 0.5
sat -0.1 0.3 0.2
"""

rows = np.genfromtxt(io.StringIO(FILE), usecols=(1, 2, 3)).astype("float32")
vectors = tf.Variable(rows, name="vectors")  # cause: came in, nan
kernel = tf.Variable(tf.ones([3, 1]))


@tf.function
def train_step(words):
    with tf.GradientTape() as tape:
        sentence = tf.reduce_mean(tf.nn.embedding_lookup(vectors, words), axis=0, keepdims=True)
        loss = tf.reduce_sum(tf.square(sentence @ kernel - 1.0))
    kernel.assign_sub(0.1 * tape.gradient(loss, kernel))
    return loss


print(float(train_step(tf.constant([0, 2]))), float(train_step(tf.constant([0, 1, 2]))))
