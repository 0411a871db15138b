"""A model in mixed precision with an energy layer that squares its activations in float16.

Activations above 256 are infinite when squared. The loss is infinite from the first step, so that loss
scaling skips every step and halves its scale for ever. Modelled on keras-team/keras issue 16552 (mixed
precision leads to a NaN loss).
"""

import keras
import numpy as np
import tensorflow as tf

keras.mixed_precision.set_global_policy("mixed_float16")
random = np.random.default_rng(7)
signal = random.normal(size=[64, 16]).astype("float32") * 100.0
power = np.mean(signal**2, axis=1, keepdims=True).astype("float32")


@keras.saving.register_keras_serializable()
class Energy(keras.layers.Layer):
    def call(self, inputs):
        return tf.square(inputs)  # cause: Square, inf


keras.utils.set_random_seed(7)
model = keras.Sequential(
    [
        keras.layers.Input([16]),
        keras.layers.Dense(16, kernel_initializer="orthogonal"),
        Energy(),
        keras.layers.Dense(1, dtype="float32"),
    ]
)
model.compile(keras.optimizers.SGD(0.001), loss="mae", jit_compile=False)
print(model.fit(signal, power, epochs=2, batch_size=32, shuffle=False, verbose=0).history["loss"])
keras.mixed_precision.set_global_policy("float32")
