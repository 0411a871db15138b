"""A linear regression on features between 0 and 199, with a learning rate of 0.001.

Each step overshoots more than the last, until the squared error is beyond the range of float32. Modelled on
keras-team/keras issue 3040 (a simple linear regression is NaN after a few iterations).
"""

import keras
import numpy as np

x = np.arange(200, dtype="float32")[:, np.newaxis]
y = 2.0 * x

keras.utils.set_random_seed(4)
model = keras.Sequential([keras.layers.Input([1]), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.001), loss="mean_squared_error", jit_compile=False)
history = model.fit(x, y, epochs=4, batch_size=10, shuffle=False, verbose=0)  # cause: Square, inf
print(history.history["loss"])
