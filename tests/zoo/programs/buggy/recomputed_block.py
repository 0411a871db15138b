"""A block whose forward pass is computed again for the gradient by `tf.recompute_grad`, with a root of 0.

Modelled on tensorflow/tensorflow issue 42889, where a root of nearly 0 makes the gradient NaN.
"""

import tensorflow as tf

w = tf.Variable(tf.fill([4, 4], 0.5))


@tf.recompute_grad
def block(x):
    hidden = tf.nn.relu(x @ w)
    return tf.sqrt(tf.reduce_sum(hidden, -1))  # cause: SqrtGrad, inf


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(block(x))
    g = tape.gradient(loss, w)
    w.assign_sub(0.1 * g)
    return loss


print(float(step(tf.ones([2, 4]))))
print(float(step(tf.constant([[1.0, 1, 1, 1], [-1.0, -1, -1, -1]]))))
print(float(step(tf.ones([2, 4]))))
