"""A loop adds up the durations of calls in float16, whose largest number is 65504."""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(125)
durations = tf.constant(random.uniform(500.0, 1500.0, size=[90]), tf.float16)


@tf.function
def shares(durations):
    total = tf.constant(0.0, tf.float16)
    for duration in durations:
        total += duration  # cause: AddV2, inf
    return durations / total


print(shares(durations).numpy()[:5])
