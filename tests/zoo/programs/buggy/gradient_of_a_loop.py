"""The length of a path that a loop walks along; the path stands still once.

The gradient of the length of a step of length 0 is infinite, inside of the gradient of the loop. Modelled on
tensorflow/tensorflow issue 12071 (the gradient of a norm at 0).
"""

import tensorflow as tf

path = tf.Variable([[0.0, 0.0], [1.0, 0.5], [1.0, 0.5], [2.0, 2.0], [3.0, 1.0]])


@tf.function
def length_of(path):
    def add_step(index, total):
        step = tf.gather(path, index + 1) - tf.gather(path, index)
        return index + 1, total + tf.sqrt(tf.reduce_sum(step * step))  # cause: SqrtGrad, inf
        # mended: squared = tf.reduce_sum(step * step)
        # mended: length = tf.where(squared > 0.0, tf.sqrt(tf.where(squared > 0.0, squared, 1.0)), 0.0)
        # mended: return index + 1, total + length

    return tf.while_loop(lambda index, _: index < 4, add_step, [0, 0.0])[1]


@tf.function
def shorten():
    with tf.GradientTape() as tape:
        length = length_of(path)
    gradient = tf.convert_to_tensor(tape.gradient(length, path))
    path.assign_sub(0.05 * gradient)
    return length


for step in range(2):
    print(step, float(shorten()), path.numpy().tolist())
