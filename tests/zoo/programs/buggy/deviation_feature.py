"""A layer of a discriminator that appends the standard deviation over the batch to its input.

All examples of a batch are equal in one feature: the gradient of the square root at a variance of 0. Modelled
on keras-team/keras issue 2960 (the standard deviation of equal numbers).
"""

import keras
import numpy as np
import tensorflow as tf

random = np.random.default_rng(41)
images = random.normal(size=[32, 6]).astype("float32")
labels = (random.uniform(size=[32, 1]) > 0.5).astype("float32")


class AppendDeviation(keras.layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(
            shape=[shape[-1]], initializer=keras.initializers.Constant([1, 1, 0, 1, 1, 1])
        )

    def call(self, inputs):
        scaled = inputs * self.scale
        deviation = tf.math.reduce_std(scaled, axis=0, keepdims=True)  # cause: SqrtGrad, inf
        # mended: deviation = tf.sqrt(tf.math.reduce_variance(scaled, axis=0, keepdims=True) + 1e-10)
        return tf.concat([scaled, tf.broadcast_to(deviation, tf.shape(inputs))], axis=1)


keras.utils.set_random_seed(41)
layers = [keras.layers.Input([6]), AppendDeviation(), keras.layers.Dense(1, "sigmoid")]
model = keras.Sequential(layers)
model.compile("sgd", loss="binary_crossentropy", jit_compile=False)
print(model.fit(images, labels, batch_size=16, epochs=1, shuffle=False, verbose=0).history["loss"])
print(float(tf.reduce_sum(model.layers[0].scale)))
