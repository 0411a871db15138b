"""An orthogonal basis by a QR decomposition that is trained through; one column is all zeros.

Its gradient solves with the triangular factor, whose diagonal holds a 0.
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(135)
start = random.normal(size=[4, 3]).astype("float32")
start[:, 2] = 0.0
frame = tf.Variable(start)
data = tf.constant(random.normal(size=[10, 4]), tf.float32)


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        basis, _ = tf.linalg.qr(frame)  # cause: MatrixTriangularSolve, nan|inf
        loss = -tf.reduce_mean(tf.square(data @ basis[:, :1]))
    frame.assign_sub(0.1 * tape.gradient(loss, frame))
    return loss


print(float(train_step()), float(train_step()))
