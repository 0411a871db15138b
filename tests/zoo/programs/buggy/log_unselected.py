"""A piecewise price curve: a logarithm above 0 and a line below, chosen by tf.where.

The logarithm of the negative numbers is not chosen, but the gradient of the slope multiplies it by 0, which
is NaN. Modelled on tensorflow/tensorflow issue 27684 (a NaN on the side of tf.where that is not taken reaches
the gradient).
"""

import tensorflow as tf

demand = tf.constant([0.5, 2.0, -1.5, 3.0, 0.05, -0.2])
price = tf.constant([1.2, 2.5, 0.0, 3.4, 1.0, 0.8])
slope = tf.Variable(0.7)
offset = tf.Variable(1.0)


def curve(demand):
    above = slope * tf.math.log(demand) + offset  # cause: Log, nan
    below = offset + 0.1 * demand
    return tf.where(demand > 0.1, above, below)


for step in range(3):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.abs(curve(demand) - price))
    gradients = tape.gradient(loss, [slope, offset])
    for variable, gradient in zip([slope, offset], gradients, strict=True):
        variable.assign_sub(0.1 * gradient)
    print(step, float(loss), float(slope), float(offset))
