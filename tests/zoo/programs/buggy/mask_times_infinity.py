"""An attention mask made by multiplication: (1 - mask) * -infinity is NaN wherever the mask is 1.

The infinity is meant. Modelled on the many threads in which -1e9 is replaced by -infinity in the mask of the
transformer tutorial.
"""

import numpy as np
import tensorflow as tf

random = np.random.default_rng(101)
NOTHING = tf.constant(float("-inf"))  # meant
tokens = tf.constant([[5, 3, 8, 0], [4, 9, 0, 0]])
embedded = tf.constant(random.normal(size=[2, 4, 6]), tf.float32)
queries = tf.Variable(random.normal(size=[6, 6]).astype("float32"))


@tf.function
def attend(tokens, x):
    seen = tf.cast(tokens != 0, tf.float32)[:, tf.newaxis, :]
    bias = (1.0 - seen) * NOTHING  # cause: Mul, nan
    scores = tf.matmul(tf.einsum("btd,de->bte", x, queries), x, transpose_b=True)
    return tf.nn.softmax(scores + bias) @ x


print(attend(tokens, embedded).numpy()[0, 0])
