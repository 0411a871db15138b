"""Newton's method in a tf.while_loop, for many starting points at once.

One of them starts where the derivative is 0. Modelled on tensorflow/tensorflow issue 36359 (a division by 0
that should have been div_no_nan), inside of a loop.
"""

import tensorflow as tf

starts = tf.constant([2.0, 0.5, 0.0, -3.0])


def polynomial(x):
    return x**3 - 2.0


def slope(x):
    return 3.0 * x**2


@tf.function
def solve(starts):
    def improve(count, x):
        return count + 1, x - polynomial(x) / slope(x)  # cause: RealDiv, inf

    return tf.while_loop(lambda count, x: count < 12, improve, [0, starts])[1]


roots = solve(starts)
print(roots.numpy(), float(tf.reduce_mean(roots)))
