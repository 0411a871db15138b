"""Readings of a sensor are handed to a compiled model as NumPy arrays; the sensor answers NaN once.

Modelled on danielegrattarola/keras-gat issue 14 (missing values in the input).
"""

import numpy as np
import tensorflow as tf

state = tf.Variable([0.0, 0.0])
gain = tf.constant([0.5, 0.1])


@tf.function
def correct(state, reading):
    return state + gain * (reading - state)


@tf.function
def update(reading):
    state.assign(correct(state, reading))
    return tf.norm(state)


readings = np.array([[1.0, 2.0], [1.1, 2.2], [np.nan, 2.1], [1.3, 2.3]], dtype="float32")
for reading in readings:
    print(float(update(reading)))  # cause: came in, nan
