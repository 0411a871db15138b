"""A learning rate that falls with 1 / sqrt(step), as a schedule of Keras: the first step is number 0.

The schedule of the transformer tutorial takes the minimum with a warm-up; this one was made without.
"""

import keras
import numpy as np
import tensorflow as tf


class InverseRoot(keras.optimizers.schedules.LearningRateSchedule):
    """A learning rate that falls with the root of the step."""

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        return 0.01 * tf.math.rsqrt(step)  # cause: Rsqrt, inf
        # mended: return 0.01 * tf.math.rsqrt(step + 1.0)


random = np.random.default_rng(113)
inputs = random.normal(size=[32, 4]).astype("float32")
targets = inputs.sum(axis=1, keepdims=True)
keras.utils.set_random_seed(113)
model = keras.Sequential([keras.layers.Input([4]), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(InverseRoot()), loss="mse", jit_compile=False)
print(model.fit(inputs, targets, batch_size=16, epochs=1, shuffle=False, verbose=0).history)
