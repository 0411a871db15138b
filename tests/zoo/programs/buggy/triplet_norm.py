"""A triplet loss on embeddings, with a batch in which anchor and positive are the same picture.

Their distance is 0, and the derivative of the square root there is infinite; times the zero difference it is
NaN. Modelled on tensorflow/tensorflow issues 12071 (gradient of tf.norm at 0) and 30199 (triplet loss with
similar batches).
"""

import tensorflow as tf
from sklearn.datasets import load_digits

tf.random.set_seed(2)
images = tf.constant(load_digits().data[:60] / 16.0, tf.float32)
projection = tf.Variable(tf.random.normal([64, 8], stddev=0.2))


def distance(a, b):
    return tf.norm(a - b, axis=1)  # cause: SqrtGrad, inf
    # mended: return tf.sqrt(tf.reduce_sum(tf.square(a - b), axis=1) + 1e-10)


@tf.function
def train_step(anchor, positive, negative):
    with tf.GradientTape() as tape:
        anchor, positive, negative = (each @ projection for each in (anchor, positive, negative))
        margin = distance(anchor, positive) - distance(anchor, negative) + 5.0
        loss = tf.reduce_mean(tf.nn.relu(margin))
    projection.assign_sub(0.05 * tape.gradient(loss, projection))
    return loss


for step in range(4):
    anchor = images[step * 10 : step * 10 + 10]
    positive = tf.roll(anchor, shift=1 if step < 2 else 0, axis=0)
    negative = images[step * 10 + 10 : step * 10 + 20]
    print(step, float(train_step(anchor, positive, negative)))
