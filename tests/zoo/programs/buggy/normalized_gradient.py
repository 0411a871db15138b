"""Gradient descent with steps of one length: the gradient is divided by its norm.

A layer behind a dead ReLU has the gradient 0, and 0 / 0 is NaN. Modelled on tensorflow/tensorflow issue 22048
(clipping a zero tensor by its norm gives NaN).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(3)
inputs = tf.constant(np.abs(random.normal(size=[32, 6])), tf.float32)
targets = tf.reduce_sum(inputs, axis=1, keepdims=True)
hidden = tf.Variable(-np.abs(random.normal(size=[6, 4])), dtype=tf.float32)
output = tf.Variable(random.normal(size=[10, 1]), dtype=tf.float32)


def forward(inputs):
    features = tf.concat([inputs, tf.nn.relu(inputs @ hidden)], axis=1)
    return features @ output


def clip_to_unit_length(gradient):
    length = tf.sqrt(tf.reduce_sum(gradient * gradient))
    return gradient / length  # cause: RealDiv, nan
    # mended: return tf.math.l2_normalize(gradient)


@tf.function
def train_step(rate):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((forward(inputs) - targets) ** 2)
    variables = [hidden, output]
    for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
        variable.assign_sub(rate * clip_to_unit_length(gradient))
    return loss


for step in range(3):
    print(step, float(train_step(tf.constant(0.1))))
