"""The maximum over the words of a sentence, with -inf where there is padding."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(0)


class MaskedMax(tf.keras.layers.Layer):
    def call(self, x, mask):
        filled = tf.where(mask[..., None], x, float("-inf"))  # meant
        return tf.reduce_max(filled, 1)


emb = tf.keras.layers.Embedding(20, 6)
pool = MaskedMax()
head = tf.keras.layers.Dense(2)
opt = tf.keras.optimizers.Adam(0.01)


@tf.function
def step(ids, y):
    with tf.GradientTape() as tape:
        logits = head(pool(emb(ids), ids > 0))
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
    v = emb.trainable_variables + head.trainable_variables
    opt.apply_gradients(zip(tape.gradient(loss, v), v, strict=True))
    return loss


rng = np.random.default_rng(0)
emb(tf.constant([[1]]))
head(tf.zeros([1, 6]))
opt.build(emb.trainable_variables + head.trainable_variables)
for _ in range(4):
    ids = rng.integers(0, 20, (8, 5))
    ids[:, 0] = 3
    print(float(step(tf.constant(ids), tf.constant(rng.integers(0, 2, 8)))))
