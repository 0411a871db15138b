"""The log likelihood of a mixture in one expression over several lines.

The mixture weights are clipped to 0 from below, and one of them is 0. Modelled on TheAlgorithms/Python issue
12233 (the logarithm of 0 in a sum of products).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(76)
responsibilities = tf.nn.softmax(tf.constant(random.normal(size=[10, 3]), tf.float32))
samples = tf.constant(random.normal(size=[10, 1]), tf.float32)
means = tf.Variable([-1.0, 0.0, 2.0])
shares = tf.Variable([0.7, 0.5, -0.2])


@tf.function
def expected_log_likelihood():
    return tf.reduce_mean(
        tf.reduce_sum(  # cause: Log, inf
            responsibilities
            * (
                tf.math.log(tf.clip_by_value(shares, 0.0, 1.0))  # cause: Log, inf
                - 0.5 * tf.math.log(tf.exp(2.0 * 0.3))
                - 0.5 * tf.square(samples - means) / tf.exp(2.0 * 0.3)
            ),
            axis=1,
        )
    )


print(float(expected_log_likelihood()))
