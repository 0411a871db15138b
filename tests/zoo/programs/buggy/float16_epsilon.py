"""A normalisation in float16 with an epsilon of 1e-8, which is 0 in float16.

A channel without variance is divided by 0. Modelled on keras-team/keras issues 22586 (group normalisation in
float16 with a small epsilon) and 11832 (training in float16 needs a larger epsilon).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(8)
features = random.normal(size=[4, 20, 3]).astype("float16")
features[:, :, 1] = 0.5
kernel = tf.Variable(random.normal(size=[3, 2]), dtype=tf.float16)


@tf.function
def normalize(x, epsilon=1e-8):
    mean, variance = tf.nn.moments(x, axes=[1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + epsilon)  # cause: Rsqrt, inf


@tf.function
def forward(x):
    return tf.reduce_mean(normalize(x) @ kernel)


for step in range(2):
    print(step, float(forward(tf.constant(features))))
