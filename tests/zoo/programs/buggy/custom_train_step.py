"""A Keras model with its own train step that scales each picture by its brightest pixel.

One picture is black: 0 / 0. Modelled on keras-team/keras issue 828 (NaN when training on an example that is
all zeros).
"""

import keras
import tensorflow as tf
from sklearn.datasets import load_digits

digits = load_digits()
images = digits.data[:120].astype("float32")
images[77] = 0.0
keras.utils.set_random_seed(6)


class Classifier(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(10)

    def call(self, images):
        brightest = tf.reduce_max(images, axis=1, keepdims=True)
        return self.dense(images / brightest)  # cause: RealDiv, nan

    def train_step(self, data):
        images, labels = data
        with tf.GradientTape() as tape:
            logits = self(images, training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


model = Classifier()
model.compile(keras.optimizers.Adam(0.01), jit_compile=False)
print(model.fit(images, digits.target[:120], epochs=2, batch_size=40, shuffle=False, verbose=0).history)
