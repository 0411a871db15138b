"""A soft penalty that is an exponential near the limit and a line beyond it, chosen by tf.where.

The forward pass is right. Far beyond the limit the exponential overflows on the side that is not taken, and
its gradient is 0 times infinity. Modelled on tensorflow/tensorflow issues 2540 and 38349 (NaN gradients with
tf.select and tf.where because of the side that is not taken).
"""

import tensorflow as tf

load = tf.Variable([0.5, 3.0, 120.0, -1.0])


@tf.function
def penalty(load):
    growing = tf.exp(load)  # cause: Exp|Mul, nan|inf
    return tf.reduce_sum(tf.where(load < 5.0, growing, 30.0 * load))


def main():
    optimizer = tf.keras.optimizers.SGD(0.1)
    for step in range(3):
        with tf.GradientTape() as tape:
            total = penalty(load)
        (gradient,) = tape.gradient(total, [load])
        optimizer.apply_gradients([(gradient, load)])
        print(step, float(total), load.numpy().tolist())


main()
