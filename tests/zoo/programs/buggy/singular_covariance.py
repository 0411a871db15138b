"""The volume of a cloud of points, from the log determinant of its covariance.

All points lie on a line, so that the determinant is 0. Modelled on tensorflow/tensorflow issue 367, whose
users ask for a stable log determinant.
"""

import tensorflow as tf

points = tf.constant([[1.0, 2.0], [2.0, 4.0], [4.0, 8.0], [-3.0, -6.0]])


@tf.function
def log_volume(points):
    scatter = tf.matmul(points, points, transpose_a=True)
    _, log_determinant = tf.linalg.slogdet(scatter)  # cause: LogMatrixDeterminant, inf
    return 0.5 * log_determinant


noise = tf.constant([[0.5, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
volumes = tf.stack([log_volume(points), log_volume(points + noise)])
print(tf.nn.softmax(volumes).numpy(), (volumes - tf.reduce_mean(volumes)).numpy())
