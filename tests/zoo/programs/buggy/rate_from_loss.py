"""A callback of Keras computes the learning rate by NumPy: the root of a loss that got worse is NaN.

The value comes in by an assignment between two calls of the training step.
"""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(3)


class Adaptive(tf.keras.callbacks.Callback):
    """Follows the improvement of the loss."""

    def __init__(self):
        super().__init__()
        self.last = None

    def on_epoch_end(self, epoch, logs=None):
        loss = np.float32(logs["loss"])
        if self.last is not None:
            with np.errstate(all="ignore"):
                gain = np.sqrt(self.last - loss)
            self.model.optimizer.learning_rate.assign(0.1 * gain)  # cause: came in, nan
        self.last = np.float32(0.0) if epoch == 1 else loss


x = np.random.default_rng(1).normal(size=(32, 4)).astype("float32")
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.01), "mse")
model.fit(x, x.sum(1), batch_size=16, epochs=5, verbose=2, callbacks=[Adaptive()])
