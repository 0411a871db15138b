"""A step of a simulation in a loop, with a branch: a tank that runs empty takes the logarithm of its level.

It happens in one iteration of fifty, and the branch that follows hides it by a maximum. Modelled on
tensorflow/tensorflow issue 38349, where the value of a branch that was not wanted spoils the rest.
"""

import tensorflow as tf


@tf.function
def simulate(level, drain):
    pressure = tf.constant(0.0)
    for minute in tf.range(50):
        level = level - drain
        if minute % 3 == 0:
            pressure = tf.math.log(level)  # cause: Log, nan
        else:
            pressure = 0.9 * pressure
        if level < -1.0:
            level = level + 12.0
    return pressure, level


for drain in [0.1, 0.37, 0.8]:
    pressure, level = simulate(tf.constant(10.0), tf.constant(drain))
    print(drain, float(pressure), float(level))
