"""Examples in files of records, loaded as the guides of TensorFlow do; one number of one label is bad.

Arguments: the way, and "nan", "inf" or "filtered": a NaN that the pipeline leaves out.
"""

import os
import sys
import tempfile

import numpy as np
import tensorflow as tf

way, bad = sys.argv[1:]
random = np.random.default_rng(0)
table = random.normal(size=[32, 4]).astype("float32")
table[13, 3] = np.inf if bad == "inf" else np.nan
path = os.path.join(tempfile.mkdtemp(), "data")


def floats(values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def write_records(serialize):
    with tf.io.TFRecordWriter(path) as writer:
        for row in table:
            writer.write(serialize(row))
    return tf.data.TFRecordDataset(path)


def example(row):
    features = tf.train.Features(feature={"x": floats(row[:3]), "y": floats(row[3:])})
    return tf.train.Example(features=features).SerializeToString()


def sequence_example(row):
    steps = tf.train.FeatureLists(feature_list={"x": tf.train.FeatureList(feature=[floats(row[:3])])})
    context = tf.train.Features(feature={"y": floats(row[3:])})
    return tf.train.SequenceExample(context=context, feature_lists=steps).SerializeToString()


X = tf.io.FixedLenFeature([3], tf.float32)
Y = tf.io.FixedLenFeature([1], tf.float32)


def parse_single(record):
    row = tf.io.parse_single_example(record, {"x": X, "y": Y})  # cause single: came in, bad
    return row["x"], row["y"]


def parse_batch(records):
    rows = tf.io.parse_example(records, {"x": X, "y": Y})  # cause batch: came in, bad
    return rows["x"], rows["y"]


def parse_sequence(record):
    context, steps = tf.io.parse_single_sequence_example(  # cause sequence: came in, bad
        record, {"y": Y}, {"x": tf.io.FixedLenSequenceFeature([3], tf.float32)}
    )
    return steps["x"][0], context["y"]


def parse_sparse(record):
    features = {"x": X, "y": tf.io.VarLenFeature(tf.float32)}
    row = tf.io.parse_single_example(record, features)  # cause sparse: came in, bad
    return row["x"], tf.ensure_shape(tf.sparse.to_dense(row["y"]), [1])


def parse_tensor(record):
    row = tf.io.parse_tensor(record, tf.float32)  # cause tensor: came in, bad
    row = tf.ensure_shape(row, [4])
    return row[:3], row[3:]


def decode(record):
    row = tf.io.decode_raw(record, tf.float32)  # cause raw, fixed: came in, bad
    row = tf.ensure_shape(row, [4])
    return row[:3], row[3:]


def load():
    if way == "single":
        return write_records(example).map(parse_single)
    if way == "batch":
        return write_records(example).batch(8).map(parse_batch).unbatch()
    if way == "sequence":
        return write_records(sequence_example).map(parse_sequence)
    if way == "sparse":
        return write_records(example).map(parse_sparse)
    if way == "tensor":
        return write_records(lambda row: tf.io.serialize_tensor(row).numpy()).map(parse_tensor)  # meant
    if way == "raw":
        return write_records(lambda row: row.tobytes()).map(decode)
    table.tofile(path)
    return tf.data.FixedLengthRecordDataset(path, record_bytes=16).map(decode)


def is_known(x, y):
    return tf.reduce_all(tf.math.is_finite(y))  # meant


dataset = load()
if bad == "filtered":
    dataset = dataset.filter(is_known)
weights = tf.Variable(tf.zeros([3, 1]))


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(x @ weights - y))
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    return loss


print([float(train_step(x, y)) for x, y in dataset.batch(8)])
