"""A graph network takes the maximum over the neighbours of each node; one node has none.

The maximum of nothing is the smallest float, -3.4e38, and its square overflows. Modelled on
tensorflow/tensorflow issue 58123 (the maximum of an empty segment).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(108)
messages = tf.constant(random.normal(size=[9, 4]), tf.float32)
receivers = tf.constant([0, 0, 1, 1, 1, 3, 3, 4, 4])
gain = tf.Variable(tf.ones([4]))


@tf.function
def layer(messages):
    strongest = tf.math.unsorted_segment_max(messages, receivers, 5)
    energy = tf.reduce_sum(tf.square(strongest), axis=1, keepdims=True)  # cause: Square, inf
    return gain * strongest * tf.math.rsqrt(energy + 1e-6), tf.reduce_mean(energy)


nodes, penalty = layer(messages)
print(nodes.numpy(), float(penalty))
