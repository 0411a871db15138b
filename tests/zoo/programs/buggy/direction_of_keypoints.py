"""The direction of a limb as the atan2 of two key points, as a loss.

Two key points coincide: atan2(0, 0) is 0, but its gradient divides by 0. Modelled on jax-ml/jax issue 1052
(gradients of arctan2 at 0 and 0).
"""

import tensorflow as tf

shoulders = tf.constant([[0.0, 0.0], [1.0, 1.0], [2.0, 0.5]])
elbows = tf.Variable([[0.5, 0.2], [1.0, 1.0], [2.5, 1.5]])
wanted = tf.constant([0.3, 0.1, 1.0])


@tf.function
def directions(elbows):
    limb = elbows - shoulders
    return tf.atan2(limb[:, 1], limb[:, 0])  # cause: RealDiv, inf
    # mended: has_length = tf.reduce_any(limb != 0.0, axis=1)
    # mended: x = tf.where(has_length, limb[:, 0], 1.0)
    # mended: return tf.where(has_length, tf.atan2(limb[:, 1], x), 0.0)


for step in range(2):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.abs(directions(elbows) - wanted))
    elbows.assign_sub(0.05 * tape.gradient(loss, elbows))
    print(step, float(loss), elbows.numpy().tolist())
