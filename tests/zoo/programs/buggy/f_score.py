"""A metric of Keras divides by the number of predicted positives, which is 0 in the first batches.

Only the metric becomes NaN, the training goes on. Modelled on netrack/keras-metrics issue 14.
"""

import numpy as np
import tensorflow as tf


class F1(tf.keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="f1")
        self.tp = self.add_weight(name="tp", initializer="zeros")
        self.fp = self.add_weight(name="fp", initializer="zeros")
        self.fn = self.add_weight(name="fn", initializer="zeros")

    def update_state(self, y, p, sample_weight=None):
        y = tf.cast(y > 0.5, tf.float32)
        p = tf.cast(p > 0.5, tf.float32)
        self.tp.assign_add(tf.reduce_sum(y * p))
        self.fp.assign_add(tf.reduce_sum((1 - y) * p))
        self.fn.assign_add(tf.reduce_sum(y * (1 - p)))

    def result(self):
        precision = self.tp / (self.tp + self.fp)  # cause: RealDiv, nan
        # mended: precision = self.tp / tf.maximum(self.tp + self.fp, 1.0)
        recall = self.tp / (self.tp + self.fn)
        return tf.math.divide_no_nan(2 * precision * recall, precision + recall)


tf.keras.utils.set_random_seed(5)
model = tf.keras.Sequential(
    [
        tf.keras.Input((3,)),
        tf.keras.layers.Dense(1, "sigmoid", bias_initializer=tf.keras.initializers.Constant(-6.0)),
    ]
)
model.compile("sgd", "binary_crossentropy", metrics=[F1()])
rng = np.random.default_rng(0)
x = rng.normal(size=(32, 3)).astype("float32")
print(model.fit(x, (x.sum(1) > 0).astype("float32"), batch_size=16, epochs=1, verbose=0).history)
