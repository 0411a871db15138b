"""A variational autoencoder of noisy circles, with a `train_step` of its own; Adam."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)
angle = rng.uniform(0, 2 * np.pi, (2048, 1))
circles = np.concatenate([np.cos(angle), np.sin(angle), np.cos(angle) ** 2, np.sin(2 * angle)], 1)
circles = (circles + rng.normal(0, 0.02, circles.shape)).astype("float32")


class Autoencoder(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = keras.Sequential([layers.Dense(32, "relu"), layers.Dense(32, "relu"), layers.Dense(4)])
        self.decoder = keras.Sequential([layers.Dense(32, "relu"), layers.Dense(32, "relu"), layers.Dense(4)])

    def call(self, x):
        mean, log_variance = tf.split(self.encoder(x), 2, axis=1)
        drawn = mean + tf.exp(log_variance / 2) * tf.random.normal(tf.shape(mean))
        divergence = -0.5 * tf.reduce_sum(1 + log_variance - tf.square(mean) - tf.exp(log_variance), axis=1)
        return self.decoder(drawn), divergence

    def train_step(self, x):
        with tf.GradientTape() as tape:
            again, divergence = self(x)
            error = tf.reduce_mean(tf.reduce_sum(tf.square(again - x), axis=1))
            loss = error + 0.002 * tf.reduce_mean(divergence)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss, "error": error}


model = Autoencoder()
model.compile(keras.optimizers.Adam(3e-3))
model(circles[:2])
history = model.fit(circles, batch_size=64, epochs=34, verbose=0).history["error"]
assert history[-1] < 0.1 * history[0], history
