"""A feature is computed by NumPy in tf.numpy_function: the mean of the words that are long.

A text without a long word has the mean of nothing, which is NaN in NumPy. Modelled on tensorflow/tensorflow
issue 8753 (NaN values that the debugger cannot follow because of a PyFunc).
"""

import warnings

import numpy as np
import tensorflow as tf

warnings.filterwarnings("ignore", message="Mean of empty slice")
warnings.filterwarnings("ignore", message="invalid value encountered")
lengths = tf.constant([[3, 7, 5, 9], [6, 2, 8, 8], [1, 2, 4, 3], [7, 7, 1, 1]])
scale = tf.Variable(0.5)


def mean_of_long_words(lengths):
    return np.float32(lengths[lengths > 4].mean())


@tf.function
def feature(lengths):
    mean = tf.numpy_function(mean_of_long_words, [lengths], tf.float32)  # cause: came in, nan
    return tf.tanh(scale * mean)


print([float(feature(row)) for row in lengths])
