"""A singular matrix has a log determinant of -infinity; the program wants only its sign."""

import numpy as np
import tensorflow as tf


@tf.function
def orientation(matrix):
    sign, _ = tf.linalg.slogdet(matrix)  # meant
    return sign + 0.0


signs = [
    float(orientation(tf.constant(each))) for each in ([[1.0, 0.0], [0.0, -2.0]], [[0.0, 0.0], [0.0, 0.0]])
]
assert np.isfinite(signs).all()
print(signs)
