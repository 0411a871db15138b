"""A generator and a discriminator in an eager loop: log(1 - D(x)) where the sigmoid is exactly 1."""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(138)
generator = tf.Variable(random.normal(size=[2, 4]).astype("float32"))
discriminator = tf.Variable(tf.fill([4, 1], 0.5))
real = tf.constant(random.normal(size=[8, 4]) + 3.0, tf.float32)


def probability(x):
    return tf.sigmoid(x @ discriminator)


def losses(noise):
    real_share, fake_share = probability(real), probability(noise @ generator)
    cheated = tf.math.log(1.0 - fake_share)  # cause: Log, inf
    return -tf.reduce_mean(tf.math.log(real_share + 1e-7) + cheated), tf.reduce_mean(cheated)


for scale in (1.0, 1.0, 60.0):
    noise = tf.constant(random.normal(size=[8, 2]) * scale, tf.float32)
    with tf.GradientTape(persistent=True) as tape:
        of_discriminator, of_generator = losses(noise)
    discriminator.assign_sub(0.01 * tape.gradient(of_discriminator, discriminator))
    generator.assign_sub(0.01 * tape.gradient(of_generator, generator))
    print(float(of_discriminator))
