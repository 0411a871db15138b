"""Training in float16 with a fixed loss scale of 8192 that nobody checks.

A loss of 10 times the scale is beyond float16. Modelled on keras-team/keras issue 16552 (an infinite scaled
loss) and tensorflow/tensorflow issue 38357.
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(47)
inputs = tf.constant(random.normal(size=[16, 4]), tf.float16)
targets = tf.constant(random.normal(size=[16, 1]) * 5.0, tf.float16)
master = tf.Variable(tf.zeros([4, 1]))
SCALE = 8192.0


@tf.function
def train_step():
    weights = tf.cast(master, tf.float16)
    with tf.GradientTape() as tape:
        tape.watch(weights)
        loss = tf.reduce_mean(tf.square(inputs @ weights - targets))
        scaled = loss * SCALE  # cause: Mul, inf
    gradient = tf.cast(tape.gradient(scaled, weights), tf.float32) / SCALE
    master.assign_sub(0.05 * gradient)
    return scaled / SCALE


for step in range(3):
    print(step, float(train_step()))
