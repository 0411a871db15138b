"""A softplus written as log(1 + exp(x)), in a function compiled by XLA.

The exponential of 89 is beyond float32. Modelled on tensorflow/benchmarks issue 269 (the loss is NaN with
XLA) and on the usual overflow of a hand-written softplus.
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(33)
features = tf.constant(random.normal(size=[32, 4]), tf.float32)
weights = tf.Variable([[1.0], [2.0], [-1.0], [0.5]])


@tf.function(jit_compile=True)
def train_step(rate):
    with tf.GradientTape() as tape:
        scores = features @ weights * 60.0
        loss = tf.reduce_mean(tf.math.log(1.0 + tf.exp(scores)))  # cause: Exp, inf
        # mended: loss = tf.reduce_mean(tf.nn.relu(scores) + tf.math.log1p(tf.exp(-tf.abs(scores))))
    weights.assign_sub(rate * tape.gradient(loss, weights))
    return loss


for step in range(3):
    print(step, float(train_step(tf.constant(0.5))))
