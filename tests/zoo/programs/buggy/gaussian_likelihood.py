"""A Keras model that predicts mean and variance; softplus of a very negative output is exactly 0.

Modelled on keras-team/keras issues 1061 and 2586 (the loss of a density network is soon NaN).
"""

import keras
import numpy as np
import tensorflow as tf

random = np.random.default_rng(105)
inputs = random.normal(size=[64, 3]).astype("float32")
inputs[40] = [-400.0, 30.0, 2.0]
targets = inputs[:, :1] * 0.1


class GaussianLikelihood(keras.losses.Loss):
    """The negative log likelihood of a Gaussian."""

    def call(self, y_true, y_pred):
        mean, variance = y_pred[:, :1], tf.nn.softplus(y_pred[:, 1:])
        entropy = 0.5 * tf.math.log(variance)  # cause: Log, inf
        return entropy + 0.5 * tf.square(y_true - mean) / variance


model = keras.Sequential(
    [keras.layers.Input([3]), keras.layers.Dense(2, kernel_initializer=keras.initializers.Constant(0.5))]
)
model.compile(keras.optimizers.Adam(1e-3), loss=GaussianLikelihood(), jit_compile=False)
history = model.fit(inputs, targets, batch_size=16, epochs=1, shuffle=False, verbose=0)
print(history.history["loss"])
