"""Trains the net of `docs/guide/train_in_a_session.py` in a monitored session with two hooks of the debugger.

``python -m tests.support.monitored_training LOGDIR``: one hook lets the page stop the program, the other
dumps each run into a folder of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

from tb_debugger_plugin import tfdbg

v1 = tf.compat.v1


def main(logdir: str) -> None:
    """Train for some steps, and print the last loss."""
    random = np.random.RandomState(0)
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        y = v1.placeholder(tf.float32, [None, 3], name="y")
        weights = v1.get_variable("weights", [4, 3], initializer=v1.zeros_initializer())
        v1.train.get_or_create_global_step()
        p = tf.nn.softmax(tf.matmul(x, weights), name="p")
        loss = -tf.reduce_mean(tf.reduce_sum(y * tf.math.log(p, name="log_p"), 1), name="loss")
        train = v1.train.GradientDescentOptimizer(200.0).minimize(loss, name="train")
        hooks = [
            tfdbg.TensorBoardDebugHook("localhost:6064", logdir=logdir),
            tfdbg.DumpingDebugHook(str(Path(logdir).parent / "dumps")),
        ]
        with v1.train.MonitoredSession(hooks=hooks) as session:
            for _ in range(6):
                feeds = {x: random.uniform(size=[8, 4]), y: np.eye(3)[random.randint(3, size=8)]}
                _, value = session.run([train, loss], feeds)
    print(f"loss: {value}")


if __name__ == "__main__":
    main(*sys.argv[1:])
