"""Weights that are restored as the guides of TensorFlow and Keras do; one of them is bad.

Arguments: the way, and "nan", "inf" or "filtered": a NaN that is replaced before it is used.
"""

import os
import sys
import tempfile

import keras
import numpy as np
import tensorflow as tf

way, bad = sys.argv[1:]
random = np.random.default_rng(0)
folder = tempfile.mkdtemp()
kept = random.normal(size=[3, 1]).astype("float32")
kept[1] = np.inf if bad == "inf" else np.nan


def checkpoint():
    saved = tf.Variable(kept)  # cause checkpoint: came in, bad
    path = tf.train.Checkpoint(weights=saved).save(os.path.join(folder, "model"))
    weights = tf.Variable(tf.zeros([3, 1]))
    tf.train.Checkpoint(weights=weights).restore(path).assert_consumed()  # cause checkpoint: came in, bad
    return weights


def keras_weights():
    path = os.path.join(folder, "model.weights.h5")

    def build():
        return keras.Sequential([keras.Input([3]), keras.layers.Dense(1, use_bias=False)])

    saved = build()
    saved.set_weights([kept])  # cause keras_weights: came in, bad
    saved.save_weights(path)
    model = build()
    model.load_weights(path)  # cause keras_weights: came in, bad
    return model.layers[0].kernel


weights = checkpoint() if way == "checkpoint" else keras_weights()
if bad == "filtered":
    value = tf.convert_to_tensor(weights)  # meant
    weights.assign(tf.where(tf.math.is_finite(value), value, 0.0))
inputs = tf.constant(random.normal(size=[32, 3]).astype("float32"))
targets = tf.reduce_sum(inputs, axis=1, keepdims=True)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x @ tf.convert_to_tensor(weights) - y))
    weights.assign_sub(0.1 * tape.gradient(loss, weights.value if way == "keras_weights" else weights))
    return loss


print([float(train_step(inputs, targets)) for _ in range(4)])
