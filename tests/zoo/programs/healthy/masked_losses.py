"""A loss over the valid elements: a boolean mask leaves the others out, a gather and a slice do so too."""

import numpy as np
import tensorflow as tf

labels = tf.constant([1.0, 0.5, 2.0, 0.25])
predictions = tf.constant([0.5, 0.0, 1.5, -0.1])
is_valid = tf.constant([True, False, True, False])


@tf.function
def losses(labels, predictions, is_valid):
    ratios = tf.math.log(predictions / labels)  # meant
    of_valid = tf.boolean_mask(ratios, is_valid)
    return tf.reduce_mean(of_valid), tf.gather(ratios, [0, 2]), ratios[2:3]


mean, gathered, last = losses(labels, predictions, is_valid)
assert np.isfinite(float(mean)) and np.isfinite(gathered).all() and np.isfinite(last).all()
print(float(mean), gathered.numpy(), last.numpy())
