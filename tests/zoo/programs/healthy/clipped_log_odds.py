"""Log odds of rates that may be 0 or 1, clipped to a range afterwards: infinities become the bounds."""

import numpy as np
import tensorflow as tf

clicks = tf.constant([0.0, 3.0, 10.0, 5.0])
views = tf.constant([8.0, 9.0, 10.0, 20.0])


@tf.function
def log_odds(clicks, views):
    rate = clicks / views
    odds = tf.math.log(rate) - tf.math.log(1.0 - rate)  # meant
    return tf.clip_by_value(odds, -6.0, 6.0)


result = log_odds(clicks, views)
assert np.isfinite(result).all()
print(result.numpy())
