"""Mixed precision with dynamic loss scaling, whose scale begins too high.

The gradients of the first steps are infinite in float16. Those steps are skipped and the scale is halved, as
it is meant to be; later steps are fine.
"""

import keras
import numpy as np

keras.mixed_precision.set_global_policy("mixed_float16")
random = np.random.default_rng(54)
inputs = random.normal(size=[64, 8]).astype("float32")
targets = inputs.sum(axis=1, keepdims=True)

keras.utils.set_random_seed(54)
layers = [keras.layers.Input([8]), keras.layers.Dense(16, "tanh"), keras.layers.Dense(1, dtype="float32")]
model = keras.Sequential(layers)
optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.05), initial_scale=2.0**22)
model.compile(optimizer, loss="mse", jit_compile=False)
losses = model.fit(inputs, targets, batch_size=8, epochs=4, shuffle=False, verbose=0).history["loss"]  # meant
assert losses[-1] < losses[0]
print(losses, float(optimizer.dynamic_scale))
keras.mixed_precision.set_global_policy("float32")
