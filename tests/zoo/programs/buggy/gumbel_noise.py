"""Sampling with Gumbel noise, -log(-log(u)), where u was stored as float16.

Numbers near 1 are rounded to 1, whose logarithm is 0; the logarithm of 0 is infinite. Modelled on
openai/baselines issue 172 and tensorflow/probability issue 1738 (samples on the border of what is allowed).
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(23)
uniform = tf.constant(random.uniform(1e-3, 1.0, size=[3000, 8]).astype("float16"), tf.float32)
logits = tf.Variable(tf.zeros([8]))


@tf.function
def sample(uniform, temperature):
    exponential = -tf.math.log(uniform)
    noise = -tf.math.log(exponential)  # cause: Log, inf
    return tf.nn.softmax((logits + noise) / temperature)


choices = sample(uniform, tf.constant(0.5))
print(tf.reduce_mean(choices, axis=0).numpy())
