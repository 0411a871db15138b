"""A constraint of its own keeps the largest weight of each unit at 1; a bias that begins at 0 has none."""

import keras
import numpy as np
import tensorflow as tf


class LargestOne(keras.constraints.Constraint):
    """Divides by the largest absolute value."""

    def __call__(self, w):
        return w / tf.reduce_max(tf.abs(w), axis=0, keepdims=True)  # cause: RealDiv, nan


random = np.random.default_rng(129)
inputs = random.uniform(size=[32, 4]).astype("float32")
inputs[:, 3] = 0.0
targets = np.zeros([32, 2], "float32")
keras.utils.set_random_seed(129)
model = keras.Sequential(
    [
        keras.layers.Input([4]),
        keras.layers.Dense(3, activation="relu", kernel_initializer=keras.initializers.Constant(-1.0)),
        keras.layers.Dense(2, bias_constraint=LargestOne()),
    ]
)
model.compile(keras.optimizers.SGD(0.1), loss="mse", jit_compile=False)
print(model.fit(inputs, targets, batch_size=8, epochs=1, shuffle=False, verbose=0).history)
