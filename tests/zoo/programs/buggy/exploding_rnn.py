"""A recurrent cell with ReLU and weights of 3, over a sequence of a hundred steps.

The state grows threefold at each step and overflows before the end. Modelled on tensorflow/tensor2tensor
issue 113 (NaN loss with recurrent models).
"""

import keras
import numpy as np
import tensorflow as tf

random = np.random.default_rng(44)
sequence = tf.constant(np.abs(random.normal(size=[2, 100, 3])), tf.float32)
inputs_to_state = tf.Variable(tf.ones([3, 2]))
state_to_state = tf.Variable(3.0 * tf.eye(2))


class Cell(keras.layers.Layer):
    state_size = 2

    def call(self, inputs, states):
        carried = tf.matmul(states[0], state_to_state)  # cause: MatMul, inf
        state = tf.nn.relu(tf.matmul(inputs, inputs_to_state) + carried)
        return state, [state]


network = keras.layers.RNN(Cell())


@tf.function
def mean_state(sequence):
    states = network(sequence)
    return tf.reduce_mean(states - tf.reduce_max(states))


print(float(mean_state(sequence)))
