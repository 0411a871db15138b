"""A least squares fit with equal rows: the Cholesky factors of the singular matrix are NaN.

TensorFlow computes the fit in many ops below one line of the program. Modelled on tensorflow/tensorflow issue
115505.
"""

import tensorflow as tf


@tf.function
def fit(x, y):
    gram = tf.matmul(x, x, transpose_b=True)
    return tf.linalg.lstsq(gram, y)  # cause: Cholesky, nan


good = tf.constant([[1.0, 2.0, 3.0], [2.0, 0.0, 1.0], [0.5, 0.1, 4.0]])
same = tf.tile([[1.0, 0.0, 0.0]], [3, 1])
for x in (good, same):
    print(fit(x, tf.ones([3, 1])).numpy().ravel())
