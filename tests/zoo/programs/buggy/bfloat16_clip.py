"""A binary cross-entropy of its own in bfloat16, clipped to 1 - 1e-7: that is 1 in bfloat16.

Where the prediction is certain, log(1 - p) is minus infinity.
"""

import tensorflow as tf

logits = tf.constant([[0.3, -2.0, 9.0], [1.0, 0.0, -1.0]], tf.bfloat16)
labels = tf.constant([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]], tf.bfloat16)


@tf.function
def loss_of(labels, logits):
    shares = tf.clip_by_value(tf.sigmoid(logits), 1e-7, 1.0 - 1e-7)
    # mended: labels = tf.cast(labels, tf.float32)
    # mended: shares = tf.clip_by_value(tf.sigmoid(tf.cast(logits, tf.float32)), 1e-7, 1.0 - 1e-7)
    wrong = (1.0 - labels) * tf.math.log(1.0 - shares)  # cause: Log, inf
    return -tf.reduce_mean(labels * tf.math.log(shares) + wrong)


for row in range(2):
    print(float(loss_of(labels[row], logits[row])))
