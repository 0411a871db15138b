"""Causal attention that is trained, with the future masked by -infinity.

Each token sees itself, so that no row is masked as a whole, and the gradients are finite.
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(51)
tokens = tf.constant(random.normal(size=[4, 7, 8]), tf.float32)
targets = tf.roll(tokens, shift=-1, axis=1)
query = tf.Variable(random.normal(scale=0.3, size=[8, 8]), dtype=tf.float32)
value = tf.Variable(random.normal(scale=0.3, size=[8, 8]), dtype=tf.float32)
future = tf.constant(np.triu(np.full([7, 7], -np.inf), k=1), tf.float32)  # meant


@tf.function
def attend(tokens):
    scores = tf.matmul(tokens @ query, tokens, transpose_b=True) / tf.sqrt(8.0)
    weights = tf.nn.softmax(scores + future)  # meant
    return tf.matmul(weights, tokens @ value)


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(attend(tokens) - targets))
    variables = [query, value]
    for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
        variable.assign_sub(0.5 * gradient)
    return loss


losses = [float(train_step()) for _ in range(5)]
assert losses[-1] < losses[0]
print(losses)
