"""A model is trained further from a weight file in which one number is damaged.

Modelled on JihongJu/keras-fcn issue 6 (the weights of some layers are NaN, and with them the predictions).
"""

import tempfile
from pathlib import Path

import h5py
import keras
import numpy as np

random = np.random.default_rng(30)
inputs = random.normal(size=[64, 6]).astype("float32")
targets = inputs[:, :1] - inputs[:, 1:2]


def build():
    layers = [keras.layers.Input([6]), keras.layers.Dense(8, activation="tanh"), keras.layers.Dense(1)]
    model = keras.Sequential(layers)
    model.compile("sgd", loss="mse", jit_compile=False)
    return model


keras.utils.set_random_seed(30)
path = Path(tempfile.mkdtemp(), "model.weights.h5")
build().save_weights(path)
with h5py.File(path, "r+") as file:
    file["layers/dense_1/vars/0"][5, 0] = np.nan

model = build()
model.load_weights(path)  # cause: came in, nan
print(model.fit(inputs, targets, epochs=2, batch_size=32, shuffle=False, verbose=0).history["loss"])
