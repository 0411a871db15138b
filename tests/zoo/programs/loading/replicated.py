"""A data set that MirroredStrategy distributes over two replicas; the logarithm of one label is infinite.

Arguments: the way, and "nan" (a negative label), "inf" (a label of 0) or "filtered": the label is left out.
"""

import sys

import keras
import numpy as np
import tensorflow as tf

way, bad = sys.argv[1:]
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
keras.utils.set_random_seed(0)
random = np.random.default_rng(0)
features = random.normal(size=[32, 3]).astype("float32")
labels = np.abs(features.sum(axis=1, keepdims=True)) + 1
labels[13] = 0 if bad == "inf" else -1


def to_log(x, y):
    return x, tf.math.log(y)  # cause fit, loop: Log, bad
    # mended: return x, tf.math.log(tf.maximum(y, 1e-7))


def is_known(_, y):
    return tf.reduce_all(tf.math.is_finite(y))  # meant


dataset = tf.data.Dataset.from_tensor_slices((features, labels)).map(to_log)
if bad == "filtered":
    dataset = dataset.filter(is_known)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.01), "mse")
if way == "fit":
    model.fit(dataset.batch(8), verbose=0)
else:

    @tf.function
    def errors(batch):
        return strategy.run(lambda x, y: tf.reduce_mean(tf.square(model(x) - y)), args=batch)

    for batch in strategy.experimental_distribute_dataset(dataset.batch(8)):
        print(strategy.reduce("sum", errors(batch), axis=None))
