"""A residual network in mixed_float16, with loss scaling, batch normalisations and SGD with momentum."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(6)
keras.mixed_precision.set_global_policy("mixed_float16")
rng = np.random.default_rng(6)
kinds = rng.integers(0, 3, 1024)
rows, columns = np.mgrid[:8, :8]
waves = np.stack([np.sin(rows * 1.5), np.sin(columns * 1.5), np.sin((rows + columns) * 1.5)])
images = (waves[kinds] + rng.normal(0, 0.7, (1024, 8, 8))).astype("float32")[..., None]

image = keras.Input((8, 8, 1))
x = layers.Conv2D(8, 3, padding="same", use_bias=False)(image)
for _ in range(2):
    y = layers.ReLU()(layers.BatchNormalization()(x))
    y = layers.Conv2D(8, 3, padding="same")(y)
    y = layers.ReLU()(layers.BatchNormalization()(y))
    x = layers.Add()([x, layers.Conv2D(8, 3, padding="same")(y)])
x = layers.GlobalAveragePooling2D()(layers.ReLU()(layers.BatchNormalization()(x)))
model = keras.Model(image, layers.Dense(3, "softmax", dtype="float32")(x))
model.compile(
    keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True),
    "sparse_categorical_crossentropy",
    metrics=["accuracy"],
)
model.fit(images, kinds, batch_size=16, epochs=16, verbose=0)
_, accuracy = model.evaluate(images, kinds, verbose=0)
assert accuracy > 0.97, accuracy
