"""Logs a ratio to TensorBoard that is 0 / 0 until something was counted: the chart has a hole.

The ratio is used for nothing else, so that the only trace of the mistake is in the summaries.
"""

import tempfile

import tensorflow as tf

writer = tf.summary.create_file_writer(tempfile.mkdtemp())


@tf.function
def train_step(hits, tries, step):
    rate = hits / tries  # cause: RealDiv, nan
    with writer.as_default():
        tf.summary.scalar("hit_rate", rate, step=step)
    return hits + 1.0


for step in range(3):
    hits = train_step(tf.constant(float(step)), tf.constant(float(step)), tf.constant(step, tf.int64))
print(float(hits))
