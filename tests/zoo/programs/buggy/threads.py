"""Three workers evaluate shards in threads of their own; one shard has no positive examples.

Its recall is 0 / 0. Modelled on netrack/keras-metrics pull request 15 (recall is NaN where nothing is
positive).
"""

import threading

import numpy as np
import tensorflow as tf

random = np.random.default_rng(12)
scores = random.uniform(size=[3, 50]).astype("float32")
truths = (random.uniform(size=[3, 50]) > 0.4).astype("float32")
truths[1] = 0.0
results = {}


@tf.function
def recall(scores, truth):
    found = tf.reduce_sum(truth * tf.cast(scores > 0.5, tf.float32))
    return found / tf.reduce_sum(truth)  # cause: RealDiv, nan
    # mended: return found / tf.maximum(tf.reduce_sum(truth), 1.0)


def work(shard):
    for _ in range(3):
        results[shard] = recall(tf.constant(scores[shard]), tf.constant(truths[shard]))


workers = [threading.Thread(target=work, args=[shard]) for shard in range(3)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print(float(tf.add_n(list(results.values())) / 3.0))
