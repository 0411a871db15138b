"""A Dice loss for segmentation without smoothing, in Keras.

Where neither the mask nor the prediction has a pixel it is 0 / 0. Modelled on tensorflow/tensorflow issue
45568 (dice loss in mixed precision) and on the usual smoothing constant of this loss.
"""

import keras
import numpy as np
import tensorflow as tf

random = np.random.default_rng(49)
images = random.uniform(size=[12, 6, 6, 1]).astype("float32")
masks = (images > 0.6).astype("float32")
images[7] = masks[7] = 0.0


def dice_loss(y_true, y_pred):
    overlap = tf.reduce_sum(y_true * y_pred, axis=[1, 2, 3])
    size = tf.reduce_sum(y_true, axis=[1, 2, 3]) + tf.reduce_sum(y_pred, axis=[1, 2, 3])
    return 1.0 - 2.0 * overlap / size  # cause: RealDiv, nan


keras.utils.set_random_seed(49)
layers = [
    keras.layers.Input([6, 6, 1]),
    keras.layers.Conv2D(1, 3, padding="same", activation="relu", use_bias=False),
]
model = keras.Sequential(layers)
model.compile(keras.optimizers.Adam(0.01), loss=dice_loss, jit_compile=False)
print(model.fit(images, masks, batch_size=4, epochs=1, shuffle=False, verbose=0).history["loss"])
