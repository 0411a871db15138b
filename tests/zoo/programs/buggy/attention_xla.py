"""Causal attention in a function compiled by XLA, with a window that leaves the first token nothing to see.

Each token may see the tokens before it, but not itself. Modelled on tracel-ai/burn pull request 4697 (a
causal mask and another mask that together hide a whole row) in a TensorFlow function with jit_compile.
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(17)
tokens = tf.constant(random.normal(size=[2, 6, 4]), tf.float32)
projection = tf.Variable(random.normal(size=[4, 4]), dtype=tf.float32)
visible = tf.constant(np.tril(np.ones([6, 6]), k=-1), tf.bool)


@tf.function(jit_compile=True)
def decode(tokens):
    scores = tf.matmul(tokens @ projection, tokens, transpose_b=True)
    scores = tf.where(visible, scores, -np.inf)  # meant
    weights = tf.nn.softmax(scores)  # cause: Softmax, nan
    # mended: weights = tf.where(visible, tf.nn.softmax(tf.where(visible, scores, -1e9)), 0.0)
    return tf.matmul(weights, tokens)


for _ in range(2):
    print(float(tf.reduce_sum(decode(tokens))))
