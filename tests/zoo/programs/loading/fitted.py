"""Data that `fit` of Keras takes, as in its guides; one label is bad.

Arguments: the way, and "nan", "inf" or "filtered": a NaN that is left out before.
"""

import os
import sys
import tempfile

import keras
import numpy as np
import tensorflow as tf

way, bad = sys.argv[1:]
keras.utils.set_random_seed(0)
random = np.random.default_rng(0)
features = random.normal(size=[32, 3]).astype("float32")
labels = np.abs(features.sum(axis=1, keepdims=True))
labels[13] = np.inf if bad == "inf" else np.nan
known = np.isfinite(labels[:, 0]) if bad == "filtered" else np.full(32, True)


class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 4

    def __getitem__(self, number):
        rows = slice(8 * number, 8 * number + 8)
        return features[rows][known[rows]], labels[rows][known[rows]]


def batches():
    yield from Batches()


def impute(x, y):
    return x, tf.where(tf.math.is_finite(y), y, 1.0)  # meant


def through_log(x, y):
    return x, tf.math.log(tf.exp(y))


def model_of(*layers, **more):
    model = keras.Sequential([keras.Input((3,)), *layers, keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.01), "mse", **more)
    return model


def dataset_of(function):
    data = tf.data.Dataset.from_tensor_slices((features, labels))  # cause steps, mapped: came in, bad
    data = data.map(impute if bad == "filtered" else function)  # cause steps, mapped: came in, bad
    return data.batch(8)


model = model_of(**({"steps_per_execution": 4} if way == "steps" else {}))
if way == "arrays":
    model.fit(features[known], labels[known], verbose=0)  # cause arrays: came in, bad
elif way == "py_dataset":
    model.fit(Batches(), verbose=0)  # cause py_dataset: came in, bad
elif way == "batches":
    model.fit(batches(), verbose=0)  # cause batches: came in, bad
elif way == "train_on_batch":
    model.train_on_batch(features[known], labels[known])  # cause train_on_batch: came in, bad
elif way == "restored":
    weights = model.get_weights()
    weights[0][1] = 0 if bad == "filtered" else labels[13]
    model.set_weights(weights)  # cause restored: came in, bad
    path = os.path.join(tempfile.mkdtemp(), "model.weights.h5")
    model.save_weights(path)
    model = model_of()
    model.load_weights(path)  # cause restored: came in, bad
    model.fit(features, features[:, :1], verbose=0)
else:
    model.fit(dataset_of(through_log), verbose=0)
