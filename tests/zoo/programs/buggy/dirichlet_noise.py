"""Samples of a Dirichlet distribution from gammas; a layer without activation makes a shape negative."""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(124)
features = tf.constant(random.normal(size=[4, 3]), tf.float32)
kernel = tf.Variable(random.normal(size=[3, 5]).astype("float32"))


@tf.function
def sample(features, seed):
    concentration = 1.0 + features @ kernel
    draws = tf.random.stateless_gamma(  # cause: StatelessRandomGammaV3|StatelessRandomGammaV2, nan
        [4, 5], seed, concentration
    )
    return draws / tf.reduce_sum(draws, axis=1, keepdims=True)


print(sample(features, [1, 2]).numpy()[0])
