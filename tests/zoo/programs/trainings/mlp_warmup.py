"""A network of dense layers tells two spirals apart; SGD with momentum, the rate warms up and decays."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
labels = rng.integers(0, 2, 4096)
turn = rng.uniform(0.5, 2.5, 4096) * np.pi
points = np.stack([turn * np.cos(turn + labels * np.pi), turn * np.sin(turn + labels * np.pi)], 1)
points = (points + rng.normal(0, 0.2, points.shape)).astype("float32") / 5

model = keras.Sequential(
    [
        keras.Input((2,)),
        layers.Dense(32, "tanh"),
        layers.Dense(32, "relu", kernel_regularizer=keras.regularizers.L2(1e-4)),
        layers.Dense(16, "relu"),
        layers.Dense(1, "sigmoid"),
    ]
)
rate = keras.optimizers.schedules.CosineDecay(0.0, 1100, warmup_target=0.1, warmup_steps=150)
model.compile(keras.optimizers.SGD(rate, momentum=0.9), "binary_crossentropy", metrics=["accuracy"])
model.fit(points, labels, batch_size=64, epochs=20, verbose=0)
_, accuracy = model.evaluate(points, labels, verbose=0)
assert accuracy > 0.97, accuracy
