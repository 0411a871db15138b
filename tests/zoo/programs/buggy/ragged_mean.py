"""The mean rating of each user, from a ragged tensor in which a new user has no rating yet."""

import tensorflow as tf

ratings = tf.RaggedTensor.from_row_lengths([4.0, 5.0, 3.5, 1.0, 2.0], [2, 0, 3])
user_bias = tf.Variable([0.1, 0.2, 0.3])
for _ in range(2):
    means = tf.reduce_mean(ratings, axis=1)  # cause: RealDiv, nan
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(user_bias - means))
    user_bias.assign_sub(0.1 * tape.gradient(loss, user_bias))
print(user_bias.numpy())
