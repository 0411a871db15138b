"""Weights of samples from counts of their classes: a class without samples makes 0 * inf before `fit`.

Modelled on perslev/MultiPlanarUNet issue 24, where a class that is missing in the sample gives a NaN weight.
"""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(3)
rng = np.random.default_rng(1)
x = rng.normal(size=(32, 4)).astype("float32")
y = rng.normal(size=(32, 1)).astype("float32")
counts = rng.integers(1, 5, 32).astype("float32")
counts[20] = 0
with np.errstate(all="ignore"):
    weight = 1.0 / counts * (counts > 0)
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y, sample_weight=weight, batch_size=8, epochs=1, shuffle=False, verbose=2)  # cause: came in, nan
