"""The coefficient of determination as a metric of its own in Keras; the targets of a batch are equal."""

import keras
import numpy as np
import tensorflow as tf

random = np.random.default_rng(128)
inputs = random.normal(size=[48, 3]).astype("float32")
targets = inputs[:, :1] * 2.0
targets[:16] = 1.0


class Determination(keras.metrics.Metric):
    """R squared of all batches so far."""

    def __init__(self):
        super().__init__(name="r2")
        self.left = self.add_weight(name="left", initializer="zeros")
        self.total = self.add_weight(name="total", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.left.assign_add(tf.reduce_sum(tf.square(y_true - y_pred)))
        self.total.assign_add(tf.reduce_sum(tf.square(y_true - tf.reduce_mean(y_true))))

    def result(self):
        return 1.0 - self.left / self.total  # cause: RealDiv, inf


keras.utils.set_random_seed(128)
model = keras.Sequential([keras.layers.Input([3]), keras.layers.Dense(1)])
model.compile("sgd", "mse", metrics=[Determination()], jit_compile=False)
print(model.fit(inputs[:16], targets[:16], batch_size=16, epochs=1, shuffle=False, verbose=0).history)
