"""A Keras model that XLA compiles, with a learning rate far too high for its targets.

The weights grow over several steps before the loss overflows. Modelled on tensorflow/tensorflow issue 38796
and keras-team/keras issue 18919 (SGD makes the loss NaN).
"""

import keras
import numpy as np

random = np.random.default_rng(43)
inputs = random.normal(size=[96, 8]).astype("float32") * 10.0
prices = (inputs @ random.normal(size=[8, 1]) * 1000.0).astype("float32")

keras.utils.set_random_seed(43)
model = keras.Sequential([keras.layers.Input([8]), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.5), loss="mse", jit_compile=True)
history = model.fit(inputs, prices, batch_size=16, epochs=3, shuffle=False, verbose=0)  # cause: Square, inf
print(history.history["loss"])
