"""Each row of counts becomes frequencies inside of tf.map_fn; one row is empty.

Modelled on TheAlgorithms/Python issue 12233 and tensorflow/tensorflow issue 36359.
"""

import tensorflow as tf

counts = tf.constant([[3.0, 1.0, 4.0], [2.0, 0.0, 2.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])


def frequencies(row):
    return row / tf.reduce_sum(row)  # cause: RealDiv, nan
    # mended: return row / tf.maximum(tf.reduce_sum(row), 1.0)


@tf.function
def similarity(counts):
    rows = tf.map_fn(frequencies, counts)
    return tf.matmul(rows, rows, transpose_b=True)


print(similarity(counts).numpy().round(2))
