"""Arrays of Python and what is kept of a data set, loaded as the guides of TensorFlow do; one label is bad.

Arguments: the way, and "nan", "inf" or "filtered": a NaN that the pipeline leaves out.
"""

import os
import sys
import tempfile

import keras
import numpy as np
import tensorflow as tf

way, bad = sys.argv[1:]
random = np.random.default_rng(0)
table = random.normal(size=[32, 4]).astype("float32")
table[13, 3] = np.inf if bad == "inf" else np.nan
folder = tempfile.mkdtemp()
numbers = tf.data.Dataset.range(32)


def split(row):
    return row[:3], row[3:]  # cause slices, kept, saved, generator, series, many: came in, bad


def row_of(number):
    row = tf.py_function(lambda n: table[int(n)], [number], tf.float32)  # cause py_function: came in, bad
    return split(tf.ensure_shape(row, [4]))


def array_of(number):
    row = tf.numpy_function(lambda n: table[n], [number], tf.float32)  # cause numpy_function: came in, bad
    return split(tf.ensure_shape(row, [4]))  # cause numpy_function: came in, bad


def load():
    if way == "slices":
        return tf.data.Dataset.from_tensor_slices(table).map(split)  # cause slices: came in, bad
    if way == "generator":
        signature = tf.TensorSpec([4], tf.float32)
        rows = tf.data.Dataset.from_generator(  # cause generator: came in, bad
            lambda: iter(table), output_signature=signature
        )
        return rows.map(split)  # cause generator: came in, bad
    if way == "py_function":
        return numbers.map(row_of)
    if way == "numpy_function":
        return numbers.map(array_of)
    if way == "kept":
        kept = tf.data.Dataset.from_tensor_slices(table).snapshot(folder)  # cause kept: came in, bad
        return kept.map(split)  # cause kept: came in, bad
    if way == "saved":
        path = os.path.join(folder, "saved")
        tf.data.Dataset.from_tensor_slices(table).save(path)  # cause saved: came in, bad
        return tf.data.Dataset.load(path).map(split)  # cause saved: came in, bad
    if way == "series":
        windows = keras.utils.timeseries_dataset_from_array(  # cause series: came in, bad
            table, targets=None, sequence_length=1, batch_size=None
        )
        return windows.map(lambda window: split(window[0]))  # cause series: came in, bad
    many = tf.data.Dataset.from_tensor_slices([table[:16], table[16:]])  # cause many: came in, bad
    slices = tf.data.Dataset.from_tensor_slices
    return many.interleave(lambda rows: slices(rows).map(split))  # cause many: came in, bad


def is_known(x, y):
    return tf.reduce_all(tf.math.is_finite(y))  # meant


dataset = load()
if bad == "filtered":
    dataset = dataset.filter(is_known)
weights = tf.Variable(tf.zeros([3, 1]))


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x @ weights - y))
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    return loss


print([float(train_step(x, y)) for x, y in dataset.batch(8)])
