"""Batch normalisation in Keras: one batch with a huge value spoils the moving variance for ever.

While training, each batch is normalised by its own statistics, and the loss of later batches looks fine. The
moving variance is infinite since the third batch and only evaluation uses it. Modelled on keras-team/keras
issues 9646 (moving statistics go to infinity) and 19077 (BatchNormalization and a NaN after the first epoch).
"""

import keras
import numpy as np

random = np.random.default_rng(14)
inputs = random.normal(size=[80, 4]).astype("float32")
targets = inputs.sum(axis=1, keepdims=True)
inputs[35, 2] = 1e25

keras.utils.set_random_seed(14)
model = keras.Sequential(
    [
        keras.layers.Input([4]),
        keras.layers.BatchNormalization(momentum=0.9),
        keras.layers.Dense(1),
    ]
)
model.compile(keras.optimizers.SGD(0.01), loss="mae", jit_compile=False)
model.fit(inputs, targets, batch_size=16, epochs=1, shuffle=False, verbose=0)  # cause: SquaredDifference, inf
print(model.evaluate(inputs[:32], targets[:32], verbose=0))
