"""Two replicas share the batches; the last batch has one example, so that one replica has none.

The mean over no examples is NaN. Modelled on tensorflow/tensorflow issues 41657 and 36224 (NaN loss with
MirroredStrategy because of an empty batch).
"""

import numpy as np
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
random = np.random.default_rng(32)
examples = random.normal(size=[9, 3]).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices(examples).batch(4)

with strategy.scope():
    weights = tf.Variable(tf.ones([3, 1]))


def replica_loss(batch):
    errors = tf.square(batch @ weights - 1.0)
    return tf.reduce_mean(errors)  # cause: Mean, nan
    # mended: return tf.reduce_sum(errors) / tf.maximum(tf.cast(tf.size(errors), tf.float32), 1.0)


@tf.function
def step(batch):
    return strategy.reduce("SUM", strategy.run(replica_loss, args=[batch]), axis=None)


for batch in strategy.experimental_distribute_dataset(dataset):
    print(float(step(batch)))
