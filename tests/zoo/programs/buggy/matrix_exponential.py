"""A rotation as the exponential of a matrix, which should be skew-symmetric and has a large diagonal."""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(133)
generator = tf.Variable(random.normal(size=[3, 3]).astype("float32") * 0.1)
points = tf.constant(random.normal(size=[8, 3]), tf.float32)


@tf.function
def rotate(points, angle):
    rotation = tf.linalg.expm(angle * (generator + tf.eye(3)))  # cause: MatMul|BatchMatMulV2, inf
    return tf.matmul(points, rotation)


print(rotate(points, 0.5).numpy()[0], rotate(points, 500.0).numpy()[0])
