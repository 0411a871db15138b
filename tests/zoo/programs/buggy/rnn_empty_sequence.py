"""A recurrent network over padded words, whose states are averaged over the words that are there.

One sentence has no word. Modelled on keras-team/keras issues 3270 and 7517 (dividing by the mean of a mask
that is all zeros).
"""

import keras
import numpy as np
import tensorflow as tf

words = np.array([[3, 1, 4, 1], [5, 9, 2, 0], [0, 0, 0, 0], [6, 5, 0, 0]], dtype="int32")
targets = np.array([[1.0], [0.0], [1.0], [0.0]], dtype="float32")
keras.utils.set_random_seed(18)


class MeanOverWords(keras.layers.Layer):
    def call(self, states, words):
        mask = tf.cast(words != 0, tf.float32)[:, :, tf.newaxis]
        total = tf.reduce_sum(states * mask, axis=1)
        return total / tf.reduce_sum(mask, axis=1)  # cause: RealDiv, nan
        # mended: return total / tf.maximum(tf.reduce_sum(mask, axis=1), 1.0)


inputs = keras.Input([4], dtype="int32")
embedded = keras.layers.Embedding(10, 6, mask_zero=True)(inputs)
states = keras.layers.SimpleRNN(5, return_sequences=True, unroll=True)(embedded)
outputs = keras.layers.Dense(1)(MeanOverWords()(states, inputs))
model = keras.Model(inputs, outputs)
model.compile("sgd", loss="mse", jit_compile=False)
print(model.fit(words, targets, batch_size=2, epochs=2, shuffle=False, verbose=0).history["loss"])
