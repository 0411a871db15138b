"""Preprocessing layers of Keras that learn from data with a bad cell, and columns of features.

Arguments: the way, and "nan", "inf" or "filtered": a NaN that is left out before.
"""

import sys

import keras
import numpy as np
import tensorflow as tf

way, bad = sys.argv[1:]
keras.utils.set_random_seed(0)
random = np.random.default_rng(0)
table = random.normal(size=[32, 3]).astype("float32")
table[13, 1] = np.inf if bad == "inf" else np.nan
known = np.isfinite(table).all(axis=1) if bad == "filtered" else np.full(32, True)
layer = keras.layers.Normalization()
if way == "array":
    layer.adapt(table[known])  # cause array: came in, nan|inf
else:
    rows = tf.data.Dataset.from_tensor_slices(table[known])  # cause dataset: came in, bad
    layer.adapt(rows.batch(8))  # cause dataset: came in, bad
table[13, 1] = 0.0
model = keras.Sequential([keras.Input((3,)), layer, keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.01), "mse")
model.fit(table, table[:, :1], verbose=0)
