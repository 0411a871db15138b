"""Gamma correction, x ** (1 / 2.4), inside of a model that is trained.

A black pixel has an infinite derivative. Modelled on tensorflow/tensorflow issue 2295 (the gradient of pow is
infinite at 0).
"""

import tensorflow as tf
from sklearn.datasets import load_digits

images = tf.constant(load_digits().data[:20] / 16.0, tf.float32)
exposure = tf.Variable(tf.ones([64]))


@tf.function
def encode(images):
    linear = tf.clip_by_value(images * exposure, 0.0, 1.0)
    return tf.pow(linear, 1.0 / 2.4)  # cause: Pow, inf
    # mended: is_dark = linear == 0.0
    # mended: return tf.where(is_dark, 0.0, tf.pow(tf.where(is_dark, 1.0, linear), 1.0 / 2.4))


@tf.function
def train_step(images):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(encode(images) - 0.5))
    exposure.assign_sub(0.1 * tape.gradient(loss, exposure))
    return loss


for step in range(3):
    print(step, float(train_step(images)))
