"""Returns of prices as log1p of the change, in an input pipeline of windows; a share becomes worthless."""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(107)
prices = np.exp(np.cumsum(random.normal(size=60) * 0.02)).astype("float32") * 30.0
prices[41:] = 0.0
weights = tf.Variable(tf.zeros([5, 1]))


def to_returns(window):
    change = (window[1:] - window[:-1]) / tf.maximum(window[:-1], 1e-3)
    returns = tf.math.log1p(change)  # cause: Log1p, inf
    return returns[:-1], returns[-1:]


windows = tf.data.Dataset.from_tensor_slices(prices).window(7, shift=4, drop_remainder=True)
dataset = windows.flat_map(lambda window: window.batch(7)).map(to_returns).batch(2)
for x, y in dataset:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x @ weights - y))
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    print(float(loss))
