"""A hand-written layer normalisation without an epsilon.

The padding rows of a sequence are all zeros: their variance is 0. Modelled on keras-team/keras issue 2960
(the standard deviation of a zero vector) and lsdefine/attention-is-all-you-need-keras issue 13 (NaN loss with
layer normalisation).
"""

import keras
import numpy as np
import tensorflow as tf

random = np.random.default_rng(15)
sequences = random.normal(size=[16, 5, 8]).astype("float32")
sequences[3, 4:] = 0.0
targets = random.normal(size=[16, 1]).astype("float32")


class LayerNorm(keras.layers.Layer):
    def build(self, shape):
        self.gain = self.add_weight(shape=[shape[-1]], initializer="ones")

    def call(self, x):
        mean = tf.reduce_mean(x, axis=-1, keepdims=True)
        variance = tf.reduce_mean(tf.square(x - mean), axis=-1, keepdims=True)
        return self.gain * (x - mean) * tf.math.rsqrt(variance)  # cause: Rsqrt, inf
        # mended: return self.gain * (x - mean) * tf.math.rsqrt(variance + 1e-5)


keras.utils.set_random_seed(15)
model = keras.Sequential(
    [keras.layers.Input([5, 8]), LayerNorm(), keras.layers.Flatten(), keras.layers.Dense(1)]
)
model.compile("adam", loss="mse", jit_compile=False)
print(model.fit(sequences, targets, batch_size=8, epochs=1, shuffle=False, verbose=0).history["loss"])
