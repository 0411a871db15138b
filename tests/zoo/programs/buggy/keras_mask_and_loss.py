"""A Keras model that XLA compiles, with padding masked by -infinity, which is right, and a focal loss, which
is not.

The focal loss takes the logarithm of a probability that is exactly 0 for an easy example. Modelled on
keras-team/keras pull request 9 and issue 16108.
"""

import keras
import numpy as np
import tensorflow as tf

words = np.array([[4, 2, 7, 0], [3, 0, 0, 0], [5, 6, 1, 2], [9, 8, 0, 0]], dtype="int32")
targets = np.array([[1.0], [0.0], [1.0], [0.0]], dtype="float32")
keras.utils.set_random_seed(75)


class Pool(keras.layers.Layer):
    def build(self, embedded_shape, words_shape):
        self.query = self.add_weight(shape=[embedded_shape[-1], 1], initializer="glorot_uniform")

    def call(self, embedded, words):
        scores = tf.squeeze(embedded @ self.query, -1)
        masked = tf.where(words == 0, -np.inf, scores)  # meant
        weights = tf.nn.softmax(masked)
        return tf.reduce_sum(weights[:, :, tf.newaxis] * embedded, axis=1)


def focal_loss(y_true, y_pred):
    of_truth = y_true * y_pred + (1.0 - y_true) * (1.0 - y_pred)
    return -tf.reduce_mean((1.0 - of_truth) ** 2 * tf.math.log(of_truth))  # cause: Log, inf


inputs = keras.Input([4], dtype="int32")
embedded = keras.layers.Embedding(10, 6, embeddings_initializer=keras.initializers.RandomNormal(stddev=80.0))(
    inputs
)
model = keras.Model(inputs, keras.layers.Dense(1, "sigmoid")(Pool()(embedded, inputs)))
model.compile(keras.optimizers.Adam(0.05), loss=focal_loss, jit_compile=True)
print(model.fit(words, targets, batch_size=2, epochs=3, shuffle=False, verbose=0).history["loss"])
