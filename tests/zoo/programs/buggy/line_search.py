"""The step sizes of Barzilai and Borwein, s·s / s·y, for two groups of weights; one waits for the other.

The group that has not moved has the step size 0 / 0. With a 0 in its place it would never move.
"""

import tensorflow as tf

weights = tf.Variable([4.0, 0.0])
last_weights, last_gradient = tf.Variable([0.0, 0.0]), tf.Variable([0.0, 0.0])


@tf.function
def gradient_of(weights):
    with tf.GradientTape() as tape:
        tape.watch(weights)
        loss = tf.square(weights[0] - 1.0) + tf.square(weights[1] - tf.nn.relu(2.0 - weights[0]))
    return tape.gradient(loss, weights)


@tf.function
def step_sizes(step, change):
    return step * step / (step * change)  # cause: RealDiv, nan
    # mended: return tf.where(step == 0.0, 0.1, step * step / (step * change))


sizes = tf.constant([0.1, 0.1])
for turn in range(3):
    gradient = gradient_of(tf.convert_to_tensor(weights))
    if turn:
        sizes = step_sizes(weights - last_weights, gradient - last_gradient)
    last_weights.assign(weights)
    last_gradient.assign(gradient)
    weights.assign_sub(sizes * gradient)
    print(turn, sizes.numpy(), weights.numpy())
