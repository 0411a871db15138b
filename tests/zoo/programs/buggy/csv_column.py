"""Lines of a table are read by tf.io.decode_csv in an input pipeline; one cell says "nan"."""

import tensorflow as tf

lines = [f"{0.1 * row},{1.0 - 0.1 * row},{row % 3}" for row in range(20)]
lines[13] = "nan,0.3,1"
weights = tf.Variable(tf.zeros([2, 1]))


def parse(line):
    cells = tf.io.decode_csv(line, [0.0, 0.0, 0.0])  # cause: came in, nan
    return tf.stack(cells[:2]), cells[2]


for x, y in tf.data.Dataset.from_tensor_slices(lines).map(parse).batch(4):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.squeeze(x @ weights, 1) - y))
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    print(float(loss))
