"""Adam in pure float16 with the epsilon 1e-8 of the paper, which is 0 in float16; one input is always 0."""

import keras
import numpy as np

keras.backend.set_floatx("float16")
keras.utils.set_random_seed(206)
random = np.random.default_rng(206)
x = random.normal(size=[32, 4]).astype("float16")
x[:, 2] = 0.0
model = keras.Sequential([keras.layers.Input([4]), keras.layers.Dense(1)])
model.compile(
    keras.optimizers.Adam(0.01, epsilon=1e-8),
    # mended: keras.optimizers.Adam(0.01, epsilon=1e-3),
    loss="mse",
    jit_compile=False,
)
print(model.fit(x, x[:, :1], batch_size=16, shuffle=False, verbose=0).history)  # cause: RealDiv, nan
keras.backend.set_floatx("float32")
