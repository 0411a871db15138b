"""A normalisation that XLA compiles, called by a function that it does not compile, which Keras does not
know.

The column of a one-hot encoding that never occurs has no variance. Modelled on tensorflow/tensorflow issue
59215 (check_numerics does not work with jit_compile).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(74)
codes = tf.one_hot(random.integers(0, 3, size=[20]), 4)
amounts = tf.constant(random.normal(size=[20, 2]), tf.float32)
weights = tf.Variable(tf.fill([6, 1], 0.1))


@tf.function(jit_compile=True)
def standardize(x):
    centered = x - tf.reduce_mean(x, axis=0)
    deviation = tf.sqrt(tf.reduce_mean(centered * centered, axis=0))
    return centered / deviation  # cause: RealDiv, nan
    # mended: return tf.where(deviation > 0.0, centered / deviation, 0.0)


@tf.function
def predict(codes, amounts):
    features = standardize(tf.concat([codes, amounts], axis=1))
    return tf.nn.sigmoid(features @ weights)


@tf.function
def evaluate(codes, amounts):
    return tf.reduce_mean(predict(codes, amounts))


for _ in range(2):
    print(float(evaluate(codes, amounts)))
