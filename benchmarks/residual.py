"""A program for benchmarks to record: Keras trains a residual network of 50 layers for some steps.

    python -m benchmarks.residual LOGDIR

Its graph has tens of thousands of ops with names of many lengths, unlike generated event files.
"""

from __future__ import annotations

import sys

import keras
import numpy as np

import tb_debugger_plugin

_STEPS = 16
_BATCH = 4
_CLASSES = 10


def main(logdir: str) -> None:
    """Record the training."""
    random = np.random.default_rng(1)
    images = random.random((_STEPS * _BATCH, 32, 32, 3), np.float32)
    labels = random.integers(0, _CLASSES, _STEPS * _BATCH)
    model = keras.applications.ResNet50(weights=None, classes=_CLASSES, input_shape=(32, 32, 3))
    model.compile("adam", "sparse_categorical_crossentropy")
    with tb_debugger_plugin.record(logdir, mode="FULL_HEALTH"):
        model.fit(images, labels, batch_size=_BATCH, verbose=0)


if __name__ == "__main__":
    main(sys.argv[1])
