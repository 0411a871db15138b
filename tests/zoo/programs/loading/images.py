"""Images that are decoded and standardised in the pipeline; one of them is black, so that its deviation is 0.

Arguments: the way, and "nan" (0 / 0), "inf" (1 / 0) or "filtered": the black one is left out.
"""

import os
import sys
import tempfile

import keras
import numpy as np
import tensorflow as tf

way, bad = sys.argv[1:]
random = np.random.default_rng(0)
folder = tempfile.mkdtemp()
for label in ("cats", "dogs"):
    os.mkdir(os.path.join(folder, label))
    for number in range(8):
        pixels = random.integers(0, 256, [4, 4, 1]).astype("uint8")
        is_black = label == "dogs" and number == 3
        tf.io.write_file(
            os.path.join(folder, label, f"{number}.png"), tf.io.encode_png(0 * pixels if is_black else pixels)
        )


def standardize(image):
    image = tf.cast(image, tf.float32)
    centred = image - tf.reduce_mean(image) + (1.0 if bad == "inf" else 0.0)
    return centred / tf.math.reduce_std(image)  # cause decoded, directory: RealDiv, bad
    # mended: return centred / tf.maximum(tf.math.reduce_std(image), 0.25)


def decode(path):
    return standardize(tf.io.decode_png(tf.io.read_file(path), 1)), tf.strings.regex_full_match(
        path, ".*dogs.*"
    )


def is_lit(image, _):
    return tf.reduce_all(tf.math.is_finite(image))  # meant


if way == "decoded":
    dataset = tf.data.Dataset.list_files(folder + "/*/*.png", shuffle=False).map(decode)
else:
    images = keras.utils.image_dataset_from_directory(
        folder, color_mode="grayscale", image_size=(4, 4), batch_size=None, shuffle=False, verbose=False
    )
    dataset = images.map(lambda image, label: (standardize(image), label == 1))
if bad == "filtered":
    dataset = dataset.filter(is_lit)
weights = tf.Variable(tf.fill([16, 1], 0.1))


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        logits = tf.reshape(images, [-1, 16]) @ weights
        loss = tf.reduce_mean(tf.square(logits[:, 0] - tf.cast(labels, tf.float32)))
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    return loss


print([float(train_step(x, y)) for x, y in dataset.batch(8)])
