"""A learning rate warms up over a number of steps, which the configuration sets to 0: step 0 is 0 / 0.

With a 0 in its place the learning rate is 0 for ever, as any number over 0 would be, and nothing is learned.
"""

import keras
import numpy as np
import tensorflow as tf


class WarmUp(keras.optimizers.schedules.LearningRateSchedule):
    """Rises to the full rate."""

    def __init__(self, steps):
        self.steps = steps

    def __call__(self, step):
        share = tf.cast(step, tf.float32) / tf.cast(self.steps, tf.float32)  # cause: RealDiv, nan
        # mended: share = tf.cast(step, tf.float32) / self.steps if self.steps else 1.0
        return 0.1 * tf.minimum(share, 1.0)


random = np.random.default_rng(200)
inputs = random.normal(size=[32, 4]).astype("float32")
targets = inputs.sum(axis=1, keepdims=True)
keras.utils.set_random_seed(200)
model = keras.Sequential([keras.layers.Input([4]), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(WarmUp(steps=0)), loss="mse", jit_compile=False)
print(model.fit(inputs, targets, batch_size=16, epochs=1, shuffle=False, verbose=0).history)
