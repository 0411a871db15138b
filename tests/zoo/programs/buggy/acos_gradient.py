"""The angle between directions as a loss; one prediction is exactly right.

The derivative of acos at 1 is infinite. Modelled on GPflow/GPflow issue 409 (NaN gradients of a kernel with
acos) and geomstats/geomstats issue 160.
"""

import tensorflow as tf

wanted = tf.constant([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
predicted = tf.Variable([[0.8, 0.6], [0.0, 1.0], [0.0, 1.0]])


@tf.function
def loss_of(predicted):
    cosine = tf.reduce_sum(predicted * wanted, axis=1)
    angle = tf.acos(tf.clip_by_value(cosine, -1.0, 1.0))  # cause: Reciprocal, inf
    # mended: angle = tf.acos(tf.clip_by_value(cosine, -0.9999999, 0.9999999))
    return tf.reduce_mean(angle)


for step in range(2):
    with tf.GradientTape() as tape:
        loss = loss_of(predicted)
    predicted.assign_sub(0.1 * tape.gradient(loss, predicted))
    print(step, float(loss), predicted.numpy().tolist())
