"""A relative error as the loss of a Keras model that XLA compiles; some targets are 0.

Modelled on keras-team/keras issue 2908 and pull request 333 (percentage errors with labels that are 0).
"""

import keras
import numpy as np
import tensorflow as tf

random = np.random.default_rng(37)
features = random.normal(size=[48, 5]).astype("float32")
sales = np.maximum(features.sum(axis=1, keepdims=True), 0.0).astype("float32")


def relative_error(y_true, y_pred):
    difference = tf.abs(y_true - y_pred)
    return tf.reduce_mean(difference / y_true, axis=-1)  # cause: RealDiv, inf


keras.utils.set_random_seed(37)
model = keras.Sequential([keras.layers.Input([5]), keras.layers.Dense(4, "relu"), keras.layers.Dense(1)])
model.compile("adam", loss=relative_error, jit_compile=True)
print(model.fit(features, sales, batch_size=16, epochs=2, shuffle=False, verbose=0).history["loss"])
