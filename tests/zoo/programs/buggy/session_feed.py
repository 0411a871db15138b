"""A graph of TensorFlow 1 in a session, with a missing value in what is fed.

Modelled on tensorflow/tensorflow issues of its time, such as 3148, in which data are fed through
placeholders.
"""

import numpy as np
import tensorflow.compat.v1 as tf

with tf.Graph().as_default():
    features = tf.placeholder(tf.float32, [None, 3])
    targets = tf.placeholder(tf.float32, [None])
    weights = tf.get_variable("weights", [3, 1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.squeeze(features @ weights, 1) - targets))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    random = np.random.default_rng(31)
    data = random.normal(size=[4, 8, 3])
    data[2, 3, 1] = np.nan
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for batch in data:
            feeds = {features: batch, targets: np.ones(8)}
            print(session.run([loss, train], feeds)[0])  # cause: came in, nan
