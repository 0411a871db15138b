"""A spectrogram in decibels inside of a Keras model; a recording begins with digital silence.

Modelled on csteinmetz1/auraloss issue 63 (the logarithm of an STFT without an epsilon).
"""

import keras
import numpy as np
import tensorflow as tf

random = np.random.default_rng(121)
sounds = random.normal(size=[4, 512]).astype("float32")
sounds[2, :200] = 0.0


class Decibels(keras.layers.Layer):
    """The power of a short-time Fourier transform on a logarithmic scale."""

    def call(self, signal):
        spectrum = tf.signal.stft(signal, frame_length=64, frame_step=32)
        power = tf.square(tf.abs(spectrum))
        return 10.0 * tf.math.log(power) / tf.math.log(10.0)  # cause: Log, inf


keras.utils.set_random_seed(121)
model = keras.Sequential([Decibels(), keras.layers.Flatten(), keras.layers.Dense(1)])
model.compile("adam", "mse", jit_compile=False, run_eagerly=False)
print(model.predict(sounds, verbose=0))
