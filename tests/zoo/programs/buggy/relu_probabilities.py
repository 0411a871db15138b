"""A classifier that ends in a ReLU instead of a softmax: Keras divides its output by its sum, which is 0."""

import keras
import numpy as np

random = np.random.default_rng(132)
inputs = random.uniform(size=[32, 5]).astype("float32")
targets = keras.utils.to_categorical(random.integers(0, 3, size=32), 3)
model = keras.Sequential(
    [
        keras.layers.Input([5]),
        keras.layers.Dense(3, activation="relu", kernel_initializer=keras.initializers.Constant(-0.1)),
    ]
)
model.compile("adam", "categorical_crossentropy", jit_compile=False)
print(model.fit(inputs, targets, batch_size=8, epochs=1, verbose=0).history)  # cause: RealDiv, nan
