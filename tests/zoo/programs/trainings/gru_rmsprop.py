"""A recurrent network remembers the sign of the first number of a noisy sequence; RMSprop."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)
series = rng.normal(0, 0.5, (1600, 6, 2)).astype("float32")
signs = rng.integers(0, 2, 1600)
series[:, 0, 0] = 2 * signs - 1

model = keras.Sequential(
    [
        keras.Input((6, 2)),
        layers.LSTM(8, return_sequences=True),
        layers.GRU(8),
        layers.Dense(2, "softmax"),
    ]
)
model.compile(keras.optimizers.RMSprop(2e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(series, signs, batch_size=32, epochs=21, verbose=0)
_, accuracy = model.evaluate(series, signs, verbose=0)
assert accuracy > 0.97, accuracy
