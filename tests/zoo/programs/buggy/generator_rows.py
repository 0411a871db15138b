"""A Python generator scales each recording by its loudest sample, in NumPy; one recording is silent."""

import numpy as np
import tensorflow as tf

np.seterr(invalid="ignore")
random = np.random.default_rng(119)
recordings = random.normal(size=[6, 16])
recordings[3] = 0.0


def generate():
    for recording in recordings:
        yield (recording / np.abs(recording).max()).astype("float32")


signature = tf.TensorSpec([16], tf.float32)
dataset = tf.data.Dataset.from_generator(generate, output_signature=signature)  # cause: came in, nan
weights = tf.Variable(tf.ones([16]))
for recording in dataset:  # cause: came in, nan
    level = tf.tensordot(recording, weights, 1)
    weights.assign_sub(0.01 * level * recording)
print(weights.numpy())
