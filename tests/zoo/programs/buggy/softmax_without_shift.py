"""A softmax written as exp(x) / sum(exp(x)), in eager mode.

Logits near 100 overflow, and infinity / infinity is NaN. Modelled on tensorflow/tensorflow issue 2540, whose
exponential overflows too, and on the usual advice to subtract the maximum.
"""

import tensorflow as tf


def softmax(logits):
    exponentials = tf.exp(logits)  # cause: Exp, inf
    return exponentials / tf.reduce_sum(exponentials, axis=-1, keepdims=True)


def main():
    logits = tf.constant([[1.0, 2.0, 3.0], [30.0, 20.0, 10.0]])
    for scale in [1.0, 2.0, 4.0]:
        probabilities = softmax(scale * logits)
        print(scale, tf.argmax(probabilities, axis=-1).numpy(), float(tf.reduce_sum(probabilities)))


main()
