"""Words are drawn from the most probable ones only: the logits of all others become -infinity."""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(157)
embedding = tf.constant(random.normal(size=[10, 4]), tf.float32)
kernel = tf.constant(random.normal(size=[4, 10]), tf.float32)


def cut(logits, share):
    ordered = tf.sort(logits, direction="DESCENDING")
    before = tf.cumsum(tf.nn.softmax(ordered), exclusive=True, axis=-1)
    limit = tf.reduce_min(tf.where(before < share, ordered, np.inf), axis=-1, keepdims=True)  # meant
    return tf.where(logits < limit, -np.inf, logits)  # meant


@tf.function
def generate(word, length):
    words = tf.TensorArray(tf.int32, length)
    for position in tf.range(length):
        logits = cut(tf.gather(embedding, word) @ kernel, 0.8)
        noise = -tf.math.log(-tf.math.log(tf.random.stateless_uniform([1, 10], [3, position], 0.01, 0.99)))
        word = tf.argmax(logits + noise, axis=-1, output_type=tf.int32)  # meant
        words = words.write(position, word[0])
    return words.stack()


words = generate(tf.constant([3]), 12)
assert np.all((words.numpy() >= 0) & (words.numpy() < 10))
print(words.numpy())
