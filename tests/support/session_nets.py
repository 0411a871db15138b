"""A small TF1-style net for tests of sessions.

Use::

    net = Net()
    with net.session() as session:
        session.run(net.logs, {net.x: [3, 5]})
"""

from __future__ import annotations

import tensorflow as tf

v1 = tf.compat.v1


class Net:
    """Computes ``logs = log(x * v)`` with ``v = [1, 2]``, and its gradients; ``x`` is fed."""

    def __init__(self) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.step = v1.train.get_or_create_global_step()
            self.x = v1.placeholder(tf.float32, [2], name="x")
            self.v = v1.get_variable("v", initializer=[1.0, 2.0])
            scaled = tf.multiply(self.x, self.v, name="scaled")
            self.logs = tf.math.log(scaled, name="logs")
            loss = tf.reduce_sum(self.logs, name="loss")
            optimizer = v1.train.GradientDescentOptimizer(0.1)
            self.train = optimizer.minimize(loss, global_step=self.step, name="train")
            self.checked = tf.debugging.check_numerics(self.logs, "bad logs", name="checked")
            self.init = v1.global_variables_initializer()

    def session(self, *, initialized: bool = True, **options: object) -> v1.Session:
        """Returns a session, whose variables have values if they are wanted."""
        session = v1.Session(graph=self.graph, **options)
        if initialized:
            session.run(self.init)
        return session
