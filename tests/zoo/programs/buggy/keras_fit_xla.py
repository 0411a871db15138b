"""A binary classifier that Keras compiles with XLA, with a hand-written cross entropy.

The sigmoid of a very negative logit is 0, and its logarithm is -infinity. Modelled on tensorflow/tensorflow
issue 59215 (nobody finds the NaN of a Keras model with jit_compile) and on keras-team/keras pull request 9.
"""

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

digits = load_digits()
images = digits.data[:200].astype("float32")
is_even = (digits.target[:200] % 2 == 0).astype("float32")[:, np.newaxis]


def binary_cross_entropy(y_true, y_pred):
    positive = y_true * tf.math.log(y_pred)  # cause: Log, inf
    negative = (1.0 - y_true) * tf.math.log(1.0 - y_pred + 1e-7)
    return -tf.reduce_mean(positive + negative, axis=-1)


keras.utils.set_random_seed(5)
model = keras.Sequential(
    [
        keras.layers.Input([64]),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(keras.optimizers.SGD(0.5), loss=binary_cross_entropy, jit_compile=True)
print(model.fit(images, is_even, epochs=2, batch_size=50, shuffle=False, verbose=0).history["loss"])
