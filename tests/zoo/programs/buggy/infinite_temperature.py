"""Anneals a temperature that a script sets to infinity for "no limit": 0 times infinity is NaN.

The infinity comes in from Python, in an assignment to a variable, before the product that makes NaN of it.
"""

import tensorflow as tf

temperature = tf.Variable(1.0)


@tf.function
def sample_weight(score):
    return tf.reduce_sum(score * temperature)


def set_temperature(value):
    temperature.assign(value)  # cause: came in, inf


for value in (2.0, float("inf")):
    set_temperature(value)
    print(float(sample_weight(tf.constant([0.0, 1.0, 0.5]))))
