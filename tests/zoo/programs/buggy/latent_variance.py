"""A variational autoencoder whose encoder predicts a log variance of 100: its exponential overflows.

The sample takes exp(0.5 * log_variance), which is still finite; the divergence takes exp(log_variance).
"""

import keras
import numpy as np
import tensorflow as tf

random = np.random.default_rng(139)
inputs = random.normal(size=[32, 6]).astype("float32")
inputs[20] = 60.0


class Autoencoder(keras.Model):
    """Encoder and decoder of one layer each."""

    def __init__(self):
        super().__init__()
        self.encoder = keras.layers.Dense(4, kernel_initializer=keras.initializers.Constant(0.3))
        self.decoder = keras.layers.Dense(6)

    def call(self, x):
        mean, log_variance = tf.split(self.encoder(x), 2, axis=1)
        noise = tf.random.stateless_normal(tf.shape(mean), [1, 2])
        code = mean + tf.exp(0.5 * log_variance) * noise
        divergence = mean**2 + tf.exp(log_variance) - 1.0 - log_variance  # cause: Exp, inf
        self.add_loss(0.5 * tf.reduce_mean(divergence))
        return self.decoder(code)


keras.utils.set_random_seed(139)
model = Autoencoder()
model.compile(keras.optimizers.Adam(1e-3), "mse", jit_compile=False)
print(model.fit(inputs, inputs, batch_size=8, epochs=1, shuffle=False, verbose=0).history)
