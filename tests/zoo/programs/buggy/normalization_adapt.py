"""A normalisation of Keras adapts to a table with a missing value; the mean of that column is NaN."""

import keras
import numpy as np

random = np.random.default_rng(134)
table = random.normal(size=[40, 3]).astype("float32")
table[7, 1] = np.nan
clean = np.nan_to_num(table)
layer = keras.layers.Normalization()
layer.adapt(table)  # cause: came in, nan
keras.utils.set_random_seed(134)
model = keras.Sequential([layer, keras.layers.Dense(1)])
model.compile("sgd", "mse", jit_compile=False)
print(model.fit(clean, clean[:, :1], batch_size=8, epochs=1, verbose=0).history)
