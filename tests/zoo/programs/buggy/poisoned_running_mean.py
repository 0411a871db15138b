"""A running mean of log volumes, updated each step and reported at the end.

In the fourth step a volume is 0. Its logarithm goes into the running mean; it shows only in the report, when
the mean is subtracted from itself. Modelled on keras-team/keras issue 9646 (moving statistics go to infinity,
then NaN, steps before the loss does).
"""

import tensorflow as tf

volumes = [[3.0, 5.0], [2.0, 8.0], [4.0, 4.0], [0.0, 6.0], [7.0, 2.0], [1.0, 9.0]]
running_mean = tf.Variable([0.0, 0.0])
weight = tf.Variable(0.1)


@tf.function
def update(volume):
    running_mean.assign(0.9 * running_mean + 0.1 * tf.math.log(volume))  # cause: Log, inf
    return weight * tf.reduce_sum(volume)


@tf.function
def report():
    return running_mean - tf.reduce_mean(running_mean)


for step, volume in enumerate(volumes):
    loss = update(tf.constant(volume))
    weight.assign_sub(0.001 * loss)
    print(step, float(loss))
print(report().numpy())
