"""Serves a saved model whose score overflows: the sigmoid answers 1 for it, which looks like certainty.

Somebody feeds an amount in cents where the model wants units.
"""

import os
import tempfile

import tensorflow as tf


class Model(tf.Module):
    """Scores an amount."""

    def __init__(self):
        self.weight = tf.Variable(2.0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def score(self, amount):
        growth = tf.exp(self.weight * amount)
        return tf.sigmoid(growth - 4.0)


folder = os.path.join(tempfile.mkdtemp(), "model")
tf.saved_model.save(Model(), folder)
model = tf.saved_model.load(folder)
for amounts in ([0.5, 1.0], [50.0, 100.0]):
    print(model.score(tf.constant(amounts)).numpy())  # cause: Exp, inf
