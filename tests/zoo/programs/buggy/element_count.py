"""A number of elements as a product of 32 bit integers: it overflows to a negative one, whose root is NaN.

Modelled on tensorflow/tensorflow issue 9462, where such a product overflows.
"""

import tensorflow as tf


@tf.function
def scale_of(shape):
    count = tf.reduce_prod(shape)
    return 1.0 / tf.sqrt(tf.cast(count, tf.float32))  # cause: Sqrt, nan


for shape in ([3, 4], [128, 128, 64], [4096, 2048, 129, 2]):
    print(float(scale_of(tf.constant(shape))))
