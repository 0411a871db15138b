"""A program to step through: a small net whose training step is one function, with breakpoints.

python -m benchmarks.live_program LOGDIR
"""

from __future__ import annotations

import sys

import tensorflow as tf

from tb_debugger_plugin import enable_breakpoints

_LAYERS = 12


def main() -> None:
    """Train until the debugger ends the program."""
    weights = [tf.Variable(tf.random.normal([256, 256], stddev=0.05)) for _ in range(_LAYERS)]

    @tf.function
    def train_step(batch: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            hidden = batch
            for weight in weights:
                hidden = tf.nn.relu(hidden @ weight) + 1e-3
            loss = tf.reduce_mean(hidden)
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(1e-3 * gradient)
        return loss

    with enable_breakpoints(sys.argv[1]):
        while True:
            train_step(tf.random.normal([64, 256]))


if __name__ == "__main__":
    main()
