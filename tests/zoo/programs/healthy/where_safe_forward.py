"""A prediction that takes the logarithm only where it exists, chosen by tf.where, without any gradient.

The logarithm of a negative number is NaN, that of 0 is -infinity. They are on the side that is not taken.
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(40)
amounts = tf.constant(np.append(random.normal(size=30), 0.0), tf.float32)


@tf.function
def compress(amounts):
    logarithms = tf.math.log(amounts)  # meant
    return tf.where(amounts > 1e-3, logarithms, amounts - 1.0)


result = compress(amounts)
assert np.isfinite(result).all()
print(float(tf.reduce_sum(result)))
