"""A product with a factor of 0 in a function that XLA compiles: a part of it overflows, and 0 * inf is NaN.

Without XLA the product is 0. Modelled on tensorflow/tensorflow issue 126893.
"""

import tensorflow as tf


@tf.function(jit_compile=True)
def coverage(weights):
    product = tf.reduce_prod(weights)  # cause: Prod, nan
    return 1.0 - product / (1.0 + product)


for n in (20, 40, 200):
    print(n, float(coverage(tf.range(n, dtype=tf.float32))))
