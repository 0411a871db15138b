"""A layer divides the variance of the batch by n - 1; the last batch has one example."""

import keras
import numpy as np
import tensorflow as tf

random = np.random.default_rng(131)
inputs = random.normal(size=[33, 4]).astype("float32")
targets = inputs[:, :1]


class Standardize(keras.layers.Layer):
    """Subtracts the mean of the batch and divides by its deviation."""

    def call(self, x):
        count = tf.cast(tf.shape(x)[0], x.dtype)
        centered = x - tf.reduce_mean(x, axis=0)
        variance = tf.reduce_sum(tf.square(centered), axis=0) / (count - 1.0)  # cause: RealDiv, nan
        return centered * tf.math.rsqrt(variance + 1e-5)


keras.utils.set_random_seed(131)
model = keras.Sequential([keras.layers.Input([4]), Standardize(), keras.layers.Dense(1)])
model.compile("adam", "mse", jit_compile=False)
print(model.fit(inputs, targets, batch_size=8, epochs=1, shuffle=False, verbose=0).history)
