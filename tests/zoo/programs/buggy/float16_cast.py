"""Timestamps in seconds are cast to float16 together with the other features.

The largest number of float16 is 65504. Modelled on keras-team/keras issues 11832 and 11860 (infinite loss
after switching to float16).
"""

import tensorflow as tf

rows = tf.constant([[0.3, 120.0, 41_200.0], [0.1, 80.0, 64_900.0], [0.7, 95.0, 81_300.0]])
weights = tf.Variable(tf.fill([3, 1], 0.01))


@tf.function
def score(rows):
    half = tf.cast(rows, tf.float16)  # cause: Cast, inf
    hidden = tf.matmul(half, tf.cast(weights, tf.float16))
    return tf.cast(tf.nn.tanh(hidden - tf.reduce_mean(hidden)), tf.float32)


def main():
    for _ in range(2):
        print(score(rows).numpy().ravel())


if __name__ == "__main__":
    main()
