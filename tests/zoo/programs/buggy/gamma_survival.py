"""The share of parts that live longer than t, from a gamma distribution whose shape is a free variable.

A long step of training makes the shape negative, for which there is no such distribution.
"""

import tensorflow as tf

shape = tf.Variable(0.3)
rate = tf.Variable(1.0)
times = tf.constant([0.5, 1.0, 2.0, 4.0])
observed = tf.constant([0.30, 0.12, 0.02, 0.01])

for _ in range(4):
    with tf.GradientTape() as tape:
        survival = tf.math.igammac(shape, rate * times)  # cause: Igammac, nan
        loss = tf.reduce_mean(tf.square(survival - observed))
    gradients = tape.gradient(loss, [shape, rate])
    shape.assign_sub(20.0 * gradients[0])
    rate.assign_sub(0.1 * gradients[1])
    print(float(loss), float(shape))
