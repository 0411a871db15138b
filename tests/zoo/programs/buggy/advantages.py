"""Policy gradient: the returns of an episode are normalised by their deviation; one episode has one step.

The returns are collected in a TensorArray from the last reward to the first.
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(117)
weights = tf.Variable(tf.zeros([3, 2]))


@tf.function(input_signature=[tf.TensorSpec([None])])
def advantages(rewards):
    count = tf.shape(rewards)[0]
    returns = tf.TensorArray(tf.float32, count)
    following = 0.0
    for step in tf.range(count - 1, -1, -1):
        following = rewards[step] + 0.9 * following
        returns = returns.write(step, following)
    returns = returns.stack()
    centered = returns - tf.reduce_mean(returns)
    return centered / tf.math.reduce_std(returns)  # cause: RealDiv, nan
    # mended: return tf.where(count > 1, centered / tf.math.reduce_std(returns), 0.0)


for length in (5, 8, 1, 4):
    states = tf.constant(random.normal(size=[length, 3]), tf.float32)
    actions = tf.constant(random.integers(0, 2, size=length))
    weight = advantages(tf.constant(random.normal(size=length), tf.float32))
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(actions, states @ weights)
        loss = tf.reduce_mean(losses * weight)
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    print(float(loss))
