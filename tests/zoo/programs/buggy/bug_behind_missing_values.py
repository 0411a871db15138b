"""Missing readings are NaN and are replaced, which is right; then each row is scaled by its range.

A row in which everything is missing has the range 0. Modelled on keras-team/keras issue 1628 (missing values)
and issue 20011 (a scale of 0).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(72)
table = random.normal(size=[24, 4]).astype("float32")
table[random.uniform(size=table.shape) < 0.2] = np.nan
table[17] = np.nan


def replace(row):
    return tf.where(tf.math.is_nan(row), 0.0, row)  # meant


def scale(row):
    low, high = tf.reduce_min(row), tf.reduce_max(row)
    return (row - low) / (high - low)  # cause: RealDiv, nan
    # mended: return (row - low) / tf.where(high > low, high - low, 1.0)


dataset = tf.data.Dataset.from_tensor_slices(table).map(replace).map(scale).batch(8)  # meant
weights = tf.Variable(tf.ones([4, 1]))


@tf.function
def predict(rows):
    return tf.reduce_mean(rows @ weights)


print([float(predict(rows)) for rows in dataset])
