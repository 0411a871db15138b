"""The learning rate of the transformer: the minimum of 1 / sqrt(step), infinite at step 0, and a warm-up."""

import keras
import numpy as np
import tensorflow as tf


class Schedule(keras.optimizers.schedules.LearningRateSchedule):
    """Rises for 4 steps, then falls with the root of the step."""

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        falling = tf.math.rsqrt(step)  # meant
        return 0.1 * tf.minimum(falling, step * 4.0**-1.5)


random = np.random.default_rng(151)
inputs = random.normal(size=[64, 4]).astype("float32")
targets = inputs.sum(axis=1, keepdims=True)
keras.utils.set_random_seed(151)
model = keras.Sequential([keras.layers.Input([4]), keras.layers.Dense(1)])
model.compile(keras.optimizers.Adam(Schedule()), loss="mse", jit_compile=False)
losses = model.fit(inputs, targets, batch_size=16, epochs=3, shuffle=False, verbose=0).history["loss"]
assert np.isfinite(losses).all() and losses[-1] < losses[0]
print(losses)
