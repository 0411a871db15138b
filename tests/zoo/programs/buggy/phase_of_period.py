"""The phase of an event in its period, event % period, as a feature; one period is 0.

Modelled on tensorflow/tensorflow issue 79162 (floormod by 0 is an error for integers; for floats it is NaN).
"""

import tensorflow as tf

times = tf.constant([3.5, 10.0, 7.25, 1.0])
periods = tf.constant([1.0, 4.0, 0.0, 2.5])


@tf.function
def features(times, periods):
    phase = times % periods  # cause: FloorMod, nan
    return tf.stack([tf.sin(phase), tf.cos(phase)], axis=1)


print(tf.reduce_sum(features(times, periods), axis=0).numpy())
