"""A contrastive loss with a learned temperature that a ReLU keeps from being negative: it becomes 0."""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(137)
images = tf.math.l2_normalize(tf.constant(random.normal(size=[6, 8]), tf.float32), axis=1)
texts = tf.math.l2_normalize(images + 0.1 * random.normal(size=[6, 8]).astype("float32"), axis=1)
temperature = tf.Variable(0.3)


@tf.function
def loss_of(images, texts):
    similarity = tf.matmul(images, texts, transpose_b=True)
    logits = similarity / tf.nn.relu(temperature)  # cause: RealDiv, inf
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(tf.range(6), logits))


@tf.function
def train_step(images, texts):
    with tf.GradientTape() as tape:
        loss = loss_of(images, texts)
    temperature.assign_sub(0.3 * tape.gradient(loss, temperature))
    return loss


for _ in range(4):
    print(float(train_step(images, texts)), float(temperature))
