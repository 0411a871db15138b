"""An attention mask of -1e9, cast to the float16 of the scores, where it is minus infinity.

The mask is multiplied by 1 - visible, and 0 times infinity is NaN. Modelled on huggingface/transformers code
that masks with -10000 for this reason.
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(202)
scores = tf.constant(random.normal(size=[2, 3, 4]), tf.float16)
visible = tf.constant([[1, 1, 1, 0], [1, 1, 0, 0]], tf.float16)


@tf.function
def attend(scores, visible):
    bias = (1 - visible)[:, tf.newaxis, :] * tf.cast(-1e9, tf.float16)  # cause: Cast, inf
    # mended: bias = (1 - visible)[:, tf.newaxis, :] * tf.constant(-1e4, tf.float16)
    return tf.nn.softmax(tf.cast(scores + bias, tf.float32))


for _ in range(2):
    print(tf.reduce_mean(attend(scores, visible), axis=1).numpy())
