"""A scale is stored as the inverse of softplus, log(exp(x) - 1); one of the scales to begin with is large.

Modelled on tensorflow/probability code for `FillScaleTriL` and the issues about its initial values.
"""

import tensorflow as tf


def inverse_softplus(scale):
    return tf.math.log(tf.math.expm1(scale))  # cause: Expm1, inf
    # mended: return tf.where(scale > 20.0, scale, tf.math.log(tf.math.expm1(tf.minimum(scale, 20.0))))


scales = tf.constant([0.5, 2.0, 30.0, 120.0])
raw = tf.Variable(inverse_softplus(scales))
data = tf.constant([[0.1, 1.0, -20.0, 90.0], [0.3, -2.0, 14.0, -100.0]])
for _ in range(3):
    with tf.GradientTape() as tape:
        scale = tf.nn.softplus(raw)
        loss = tf.reduce_mean(tf.math.log(scale) + 0.5 * tf.square(data / scale))
    raw.assign_sub(0.1 * tape.gradient(loss, raw))
    print(raw.numpy())
