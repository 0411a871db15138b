"""A Keras model with an attention layer of its own, whose padding is masked by -infinity.

Each sentence has at least one word. XLA compiles it.
"""

import keras
import numpy as np
import tensorflow as tf

words = np.array([[4, 2, 7, 0], [3, 0, 0, 0], [5, 6, 1, 2], [9, 8, 0, 0]], dtype="int32")
targets = np.array([[1.0], [0.0], [1.0], [0.0]], dtype="float32")
keras.utils.set_random_seed(52)


class Pool(keras.layers.Layer):
    def build(self, embedded_shape, words_shape):
        self.query = self.add_weight(shape=[embedded_shape[-1], 1], initializer="glorot_uniform")

    def call(self, embedded, words):
        scores = tf.squeeze(embedded @ self.query, -1)
        masked = tf.where(words == 0, -np.inf, scores)  # meant
        weights = tf.nn.softmax(masked)
        return tf.reduce_sum(weights[:, :, tf.newaxis] * embedded, axis=1)


inputs = keras.Input([4], dtype="int32")
embedded = keras.layers.Embedding(10, 6)(inputs)
model = keras.Model(inputs, keras.layers.Dense(1)(Pool()(embedded, inputs)))
model.compile(keras.optimizers.Adam(0.05), loss="mse", jit_compile=True)
losses = model.fit(words, targets, batch_size=2, epochs=4, shuffle=False, verbose=0).history["loss"]
assert np.isfinite(losses).all()
print(losses)
