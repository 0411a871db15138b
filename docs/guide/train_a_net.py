"""Trains a small net whose loss becomes NaN: in a loop, or with Keras; `--fixed` mends it.

`tbdbg run --shell train_a_net.py` stops before and after each training step. With `--keras --debug`, the
program opens the shell itself, by a callback.
"""

import sys

import numpy as np
import tensorflow as tf

from tb_debugger_plugin import tfdbg

FIXED, KERAS, DEBUG = (option in sys.argv for option in ("--fixed", "--keras", "--debug"))


def cross_entropy(labels, probabilities):
    """Return the loss of a batch."""
    if FIXED:
        probabilities = tf.maximum(probabilities, 1e-7, name="clipped")
    log_p = tf.math.log(probabilities, name="log_p")
    return -tf.reduce_mean(tf.reduce_sum(labels * log_p, 1))


def train_in_a_loop(x, y):
    """Train by hand."""
    weights = tf.Variable(tf.zeros([4, 3]), name="weights")

    @tf.function
    def train_step(images, labels):
        with tf.GradientTape() as tape:
            loss = cross_entropy(labels, tf.nn.softmax(tf.matmul(images, weights), name="p"))
        weights.assign_sub(200.0 * tape.gradient(loss, weights))
        return loss

    for batch in range(20):
        rows = slice(8 * batch, 8 * batch + 8)
        loss = train_step(x[rows], y[rows])
    return float(loss)


def train_with_keras(x, y):
    """Train with `fit`."""
    dense = tf.keras.layers.Dense(3, activation="softmax", kernel_initializer="zeros")
    model = tf.keras.Sequential([tf.keras.Input([4]), dense])
    model.compile(tf.keras.optimizers.SGD(200.0), cross_entropy)
    callbacks = [tfdbg.ShellCallback(ui="plain")] if DEBUG else []
    return model.fit(x, y, batch_size=8, shuffle=False, verbose=0, callbacks=callbacks).history["loss"][-1]


random = np.random.RandomState(0)
inputs = random.uniform(size=[160, 4]).astype("float32")
classes = np.eye(3, dtype="float32")[random.randint(3, size=160)]
print(f"loss after 20 steps: {(train_with_keras if KERAS else train_in_a_loop)(inputs, classes)}")
