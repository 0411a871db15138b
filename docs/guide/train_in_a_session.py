"""Trains a small net in a TF1-style session, whose loss becomes NaN; `--fixed` mends it.

`--debug` opens the shell of tfdbg around the calls of the session.
"""

import sys

import numpy as np
import tensorflow as tf

from tb_debugger_plugin import tfdbg

v1 = tf.compat.v1


def build(fixed):
    """Return the inputs, the training op and the loss."""
    x = v1.placeholder(tf.float32, [None, 4], name="x")
    y = v1.placeholder(tf.float32, [None, 3], name="y")
    weights = v1.get_variable("weights", [4, 3], initializer=v1.zeros_initializer())
    p = tf.nn.softmax(tf.matmul(x, weights), name="p")
    if fixed:
        p = tf.maximum(p, 1e-7, name="clipped")
    log_p = tf.math.log(p, name="log_p")
    loss = -tf.reduce_mean(tf.reduce_sum(y * log_p, 1), name="loss")
    return x, y, v1.train.GradientDescentOptimizer(200.0).minimize(loss, name="train"), loss


def main():
    """Train."""
    random = np.random.RandomState(0)
    with tf.Graph().as_default(), v1.Session() as session:
        x, y, train, loss = build("--fixed" in sys.argv)
        session.run(v1.global_variables_initializer())
        if "--debug" in sys.argv:
            session = tfdbg.LocalCLIDebugWrapperSession(session, ui_type="plain")
        for _ in range(20):
            feeds = {x: random.uniform(size=[8, 4]), y: np.eye(3)[random.randint(3, size=8)]}
            _, value = session.run([train, loss], feeds)
    print(f"loss after 20 steps: {value}")


main()
