"""Conjugate gradients with a fixed number of turns: once the residual is 0, the step length is 0 / 0."""

import tensorflow as tf

matrix = tf.linalg.diag(tf.constant([1.0, 1.0, 4.0, 4.0]))
right_hand_side = tf.constant([1.0, 2.0, 0.0, 0.0])


def turn(count, x, residual, direction):
    product = tf.linalg.matvec(matrix, direction)
    length = tf.tensordot(residual, residual, 1)
    step = length / tf.tensordot(direction, product, 1)  # cause: RealDiv, nan
    next_residual = residual - step * product
    ratio = tf.tensordot(next_residual, next_residual, 1) / tf.maximum(length, 1e-20)
    return count + 1, x + step * direction, next_residual, next_residual + ratio * direction


@tf.function
def solve(b):
    start = (0, tf.zeros_like(b), b, b)
    return tf.while_loop(lambda count, *_: count < 6, turn, start)[1]


print(solve(right_hand_side).numpy())
