"""The loss of the pixels that have a label; one picture has none.

Modelled on keras-team/keras pull request 11643 and NVIDIA-NeMo/Automodel issue 3796 (a batch in which
everything is masked).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(46)
pictures = tf.constant(random.uniform(size=[4, 5, 5]), tf.float32)
labels = random.integers(-1, 2, size=[4, 5, 5])
labels[2] = -1
bias = tf.Variable(0.0)


@tf.function
def loss_of(picture, labels):
    errors = tf.square(picture + bias - tf.cast(labels, tf.float32))
    labelled = tf.boolean_mask(errors, labels >= 0)
    return tf.reduce_mean(labelled)  # cause: Mean, nan
    # mended: return tf.reduce_sum(labelled) / tf.cast(tf.maximum(tf.size(labelled), 1), tf.float32)


for picture, label in zip(pictures, tf.constant(labels), strict=True):
    with tf.GradientTape() as tape:
        loss = loss_of(picture, label)
    bias.assign_sub(0.1 * tape.gradient(loss, bias))
    print(float(loss), float(bias))
