"""Imitation of a player whose recorded move is forbidden now and then by the mask of legal moves.

The logits of forbidden moves are -infinity, which is right; a target of 0 times -infinity is NaN.
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(103)
boards = tf.constant(random.normal(size=[3, 8, 5]), tf.float32)
legal = random.uniform(size=[3, 8, 4]) < 0.7
legal[..., 0] = True
moves = tf.zeros([3, 8], tf.int32)
weights = tf.Variable(random.normal(size=[5, 4]).astype("float32"))


@tf.function
def train_step(board, legal, move):
    with tf.GradientTape() as tape:
        logits = tf.where(legal, board @ weights, -np.inf)  # meant
        # mended: logits = tf.where(legal, board @ weights, -1e9)
        target = tf.one_hot(move, 4)
        losses = tf.nn.softmax_cross_entropy_with_logits(  # cause: SoftmaxCrossEntropyWithLogits, nan
            target, logits
        )
        loss = tf.reduce_mean(losses)
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    return loss


for step in range(3):
    print(float(train_step(boards[step], tf.constant(legal[step]), moves[step])))
