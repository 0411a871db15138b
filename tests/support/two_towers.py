"""Trains two towers of a text model in a session that is wrapped after its initialiser has run.

``python -m tests.support.two_towers LOGDIR``: the order of programs for TensorFlow's first debugger.
"""

from __future__ import annotations

import sys

import numpy as np
import tensorflow as tf

from tb_debugger_plugin import tfdbg

v1 = tf.compat.v1


def _tower(words: tf.Tensor, name: str) -> tf.Tensor:
    with v1.variable_scope(name):
        kernel = v1.get_variable("kernel", [3, 8, 4], use_resource=False)
        return tf.reduce_max(tf.nn.relu(tf.nn.conv1d(words, kernel, 1, "SAME", name="conv")), 1)


def main(logdir: str) -> None:
    """Train for some steps, and print the last loss."""
    random = np.random.RandomState(0)
    with tf.Graph().as_default():
        users = v1.placeholder(tf.float32, [None, 20, 8], name="user")
        items = v1.placeholder(tf.float32, [None, 20, 8], name="item")
        score = tf.reduce_sum(_tower(users, "user_tower") * _tower(items, "item_tower"), 1)
        loss = tf.reduce_mean(tf.square(score - 1.0), name="loss")
        train = v1.train.AdamOptimizer(0.01).minimize(loss, name="train")
        session = v1.Session()
        session.run(v1.global_variables_initializer())
        session = tfdbg.TensorBoardDebugWrapperSession(session, "localhost:6060", logdir=logdir)
        for _ in range(6):
            feeds = {users: random.rand(4, 20, 8), items: random.rand(4, 20, 8)}
            _, value = session.run([train, loss], feeds)
    print(f"loss: {value}")


if __name__ == "__main__":
    main(*sys.argv[1:])
