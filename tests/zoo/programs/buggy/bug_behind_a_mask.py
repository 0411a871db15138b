"""A small language model with a causal mask of -infinity, which is right, and a loss that takes log(softmax).

The mask is the first infinity of the program and means no harm. The loss weighs the logarithm of forbidden
words, whose probability is 0. Modelled on keras-team/keras pull request 9 and issue 16108.
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(71)
tokens = tf.constant(random.normal(size=[3, 5, 6]), tf.float32)
words = tf.one_hot(random.integers(0, 8, size=[3, 5]), 8)
projection = tf.Variable(random.normal(scale=0.4, size=[6, 6]), dtype=tf.float32)
output = tf.Variable(random.normal(scale=40.0, size=[6, 8]), dtype=tf.float32)
future = tf.constant(np.triu(np.full([5, 5], -np.inf), k=1), tf.float32)  # meant


@tf.function
def attend(tokens):
    scores = tf.matmul(tokens @ projection, tokens, transpose_b=True)
    weights = tf.nn.softmax(scores + future)  # meant
    return tf.matmul(weights, tokens)


@tf.function
def loss_of(tokens, words):
    probabilities = tf.nn.softmax(attend(tokens) @ output)
    return -tf.reduce_mean(words * tf.math.log(probabilities))  # cause: Log, inf


for step in range(3):
    with tf.GradientTape() as tape:
        loss = loss_of(tokens, words)
    projection.assign_sub(0.01 * tape.gradient(loss, projection))
    print(step, float(loss))
