"""Training goes on from a checkpoint that an earlier program wrote when it had already diverged.

Modelled on matterport/Mask_RCNN issue 1162 and JihongJu/keras-fcn issue 6 (NaN from the first step on,
because of the weights that are loaded).
"""

from pathlib import Path

import tensorflow as tf

folder = Path(__file__).resolve().parents[1] / "diverged"
weights, bias = tf.Variable([0.0, 0.0]), tf.Variable(0.0)
checkpoint = tf.train.Checkpoint(weights=weights, bias=bias)
checkpoint.read(str(folder / "weights")).assert_consumed()  # cause: came in, nan|inf


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.square(tf.reduce_sum(weights * x) + bias - y)
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    return loss


for step in range(3):
    print(step, float(train_step(tf.constant([1.0, 0.5]), tf.constant(2.0))))
