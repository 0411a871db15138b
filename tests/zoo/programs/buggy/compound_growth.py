"""A simulation in a loop that AutoGraph converts: populations multiply by a rate that is too large.

After some hundred steps they are beyond float32; crowding then subtracts infinity from infinity. Modelled on
tensorflow/tensorflow issue 38796 (growth without bound ends in infinity, then NaN), without training.
"""

import tensorflow as tf


@tf.function
def simulate(population, rate, steps):
    for step in tf.range(steps):
        if step % 2 == 0:
            population = population * rate  # cause: Mul, inf
        else:
            population = population + 1.0
    crowding = tf.reduce_max(population)
    return population - crowding


for rate in [1.01, 1.2, 2.1]:
    print(rate, simulate(tf.constant([1.0, 2.0, 3.0]), tf.constant(rate), tf.constant(300)).numpy())
