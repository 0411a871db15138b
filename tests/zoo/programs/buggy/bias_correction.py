"""A moving average with bias correction, whose counter begins at 0 instead of 1.

In the first step the correction is 1 - 0.9 ** 0 = 0, and the average 0 / 0. Modelled on reports of
hand-written Adam optimizers, and on lisa-lab/pylearn2 issue 1499 (a denominator that can be 0).
"""

import tensorflow as tf

average = tf.Variable(0.0)
count = tf.Variable(0.0)
level = tf.Variable(0.0)


@tf.function
def corrected():
    return average / (1.0 - tf.pow(0.9, count))  # cause: RealDiv, nan


@tf.function
def update(value):
    estimate = corrected()
    average.assign(0.9 * average + 0.1 * value)
    count.assign_add(1.0)
    level.assign_add(0.5 * (estimate - level))
    return estimate


for value in [3.0, 4.0, 5.0, 4.5]:
    print(float(update(tf.constant(value))), float(level))
