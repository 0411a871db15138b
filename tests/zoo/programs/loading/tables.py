"""Tables of text, loaded as the guides of TensorFlow do; one cell is bad.

Arguments: the way, and "nan", "inf" or "filtered": a NaN that the pipeline leaves out.
"""

import os
import sys
import tempfile

import numpy as np
import tensorflow as tf

way, bad = sys.argv[1:]
random = np.random.default_rng(0)
rows = [[f"{cell:.4f}" for cell in row] for row in random.normal(size=[32, 4])]
rows[13][3] = "inf" if bad == "inf" else "nan"
path = os.path.join(tempfile.mkdtemp(), "data.csv")
with open(path, "w") as file:
    file.writelines(",".join(row) + "\n" for row in [["a", "b", "c", "y"], *rows])


def decode(line):
    cells = tf.io.decode_csv(line, [0.0] * 4)  # cause decode_csv: came in, bad
    return tf.stack(cells[:3]), tf.stack(cells[3:])


def to_number(line):
    cells = tf.strings.split(line, ",")
    numbers = tf.strings.to_number(cells)  # cause to_number: came in, bad
    numbers = tf.ensure_shape(numbers, [4])
    return numbers[:3], numbers[3:]


def look_up(line):
    cells = tf.strings.split(line, ",")
    label = table.lookup(cells[3:])  # cause lookup: came in, bad
    return tf.ensure_shape(tf.strings.to_number(cells[:3]), [3]), tf.ensure_shape(label, [1])


def columns(*cells):
    return tf.stack(cells[:3]), tf.stack(cells[3:])  # cause csv_dataset: came in, bad


def packed(features, label):
    return tf.stack(list(features.values()), axis=-1), label[:, tf.newaxis]  # cause make_csv: came in, bad


lines = tf.data.TextLineDataset(path).skip(1)
if way == "decode_csv":
    dataset = lines.map(decode)
elif way == "to_number":
    dataset = lines.map(to_number)
elif way == "lookup":
    keys = [row[3] for row in rows]
    values = [float(key) for key in keys]
    initializer = tf.lookup.KeyValueTensorInitializer(keys, tf.constant(values))  # cause lookup: came in, bad
    table = tf.lookup.StaticHashTable(initializer, 0.0)  # cause lookup: came in, bad
    dataset = lines.map(look_up)
elif way == "csv_dataset":
    csv = tf.data.experimental.CsvDataset(path, [tf.float32] * 4, header=True)
    dataset = csv.map(columns)  # cause csv_dataset: came in, bad
else:
    csv = tf.data.experimental.make_csv_dataset(  # cause make_csv: came in, bad
        path, 4, column_defaults=[tf.float32] * 4, label_name="y", num_epochs=1, shuffle=False
    )
    dataset = csv.map(packed).unbatch()  # cause make_csv: came in, bad


def is_known(x, y):
    return tf.reduce_all(tf.math.is_finite(y))  # meant


if bad == "filtered":
    dataset = dataset.filter(is_known)
weights = tf.Variable(tf.zeros([3, 1]))


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x @ weights - y))
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    return loss


print([float(train_step(x, y)) for x, y in dataset.batch(8)])  # cause csv_dataset, make_csv: came in, bad
