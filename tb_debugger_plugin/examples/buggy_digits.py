"""A small network, written by hand, that stops learning after a few steps: find out why with the debugger.

It learns to read scikit-learn's bundled digits. The accuracy stays near chance, because the loss takes the
logarithm of probabilities that have underflowed to 0. `--fixed` trains the same network without this bug.

    python -m tb_debugger_plugin.examples.buggy_digits --logdir /path/to/logdir
    tensorboard --logdir /path/to/logdir
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

import tb_debugger_plugin

try:
    import tensorflow as tf
    from sklearn.datasets import load_digits
except ModuleNotFoundError as error:
    if __name__ != "__main__":
        raise
    sys.exit(f"The example needs {str(error.name).partition('.')[0]}: pip install 'tb-debugger-plugin[demo]'")

PIXELS, HIDDEN, DIGITS = 64, 300, 10
BATCH = 100
LEARNING_RATE = 0.025
SEED = 7
# Just above float32's smallest normal number: a probability clipped higher than this would lose its gradient.
SMALLEST = 1e-37


class Dense(tf.Module):
    """A fully connected layer."""

    def __init__(self, size_in: int, size_out: int, activation: Callable[[tf.Tensor], tf.Tensor]) -> None:
        super().__init__()
        self.kernel = tf.Variable(tf.random.truncated_normal([size_in, size_out], stddev=0.1))
        self.bias = tf.Variable(tf.fill([size_out], 0.1))
        self.activation = activation

    @tf.function
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        """Return the layer's output for a batch of inputs."""
        return self.activation(tf.matmul(x, self.kernel) + self.bias)


class Classifier(tf.Module):
    """Computes the probability of each digit for images."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = Dense(PIXELS, HIDDEN, tf.nn.relu)
        self.output = Dense(HIDDEN, DIGITS, tf.nn.softmax)

    @tf.function
    def __call__(self, images: tf.Tensor) -> tf.Tensor:
        """Return the probabilities, one row per image."""
        return self.output(self.hidden(images))


@tf.function
def cross_entropy(probs: tf.Tensor, labels: tf.Tensor, clip: bool) -> tf.Tensor:
    """Return the distance of the probabilities from the labels, averaged over the batch."""
    if clip:
        probs = tf.clip_by_value(probs, SMALLEST, 1.0)
    log_probs = tf.math.log(probs)
    return tf.reduce_mean(-tf.reduce_sum(labels * log_probs, axis=1))


class Adam:
    """The Adam optimizer, in eager operations."""

    def __init__(self, variables: Sequence[tf.Variable]) -> None:
        self.variables = variables
        self.means = [tf.Variable(tf.zeros_like(v)) for v in variables]
        self.squares = [tf.Variable(tf.zeros_like(v)) for v in variables]
        self.steps = 0

    def apply(self, gradients: Sequence[tf.Tensor]) -> None:
        """Move each variable one step against its gradient."""
        self.steps += 1
        rate = LEARNING_RATE * (1 - 0.999**self.steps) ** 0.5 / (1 - 0.9**self.steps)
        for v, m, s, g in zip(self.variables, self.means, self.squares, gradients, strict=True):
            m.assign(0.9 * m + 0.1 * g)
            s.assign(0.999 * s + 0.001 * tf.square(g))
            v.assign_sub(rate * m / (tf.sqrt(s) + 1e-8))


def digits() -> tuple[np.ndarray, np.ndarray]:
    """All images, shuffled, as rows of 64 pixels from 0 to 16, and their one-hot labels."""
    bunch = load_digits()
    order = np.random.default_rng(SEED).permutation(len(bunch.target))
    images = bunch.data.astype(np.float32)
    labels = np.eye(DIGITS, dtype=np.float32)[bunch.target]
    return images[order], labels[order]


def batches(images: np.ndarray, labels: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the batches without end: they begin again after the last image."""
    while True:
        for begin in range(0, len(images) - BATCH + 1, BATCH):
            yield images[begin : begin + BATCH], labels[begin : begin + BATCH]


def train(steps: int, *, fixed: bool, report: Callable[[int, float, float], None]) -> Classifier:
    """Train for `steps` batches. `report` gets the step, the loss and the accuracy on held-out images."""
    tf.random.set_seed(SEED)
    images, labels = digits()
    held_out = images[:BATCH], labels[:BATCH]
    model = Classifier()
    optimizer = Adam(model.trainable_variables)
    stream = batches(images[BATCH:], labels[BATCH:])
    for step in range(steps):
        batch, expected = next(stream)
        with tf.GradientTape() as tape:
            loss = cross_entropy(model(batch), expected, clip=fixed)
        optimizer.apply(tape.gradient(loss, model.trainable_variables))
        report(step, float(loss), accuracy(model, *held_out))
    return model


def accuracy(model: Classifier, images: np.ndarray, labels: np.ndarray) -> float:
    """Return the fraction of images whose most probable digit is correct."""
    is_correct = tf.equal(tf.argmax(model(images), axis=1), tf.argmax(labels, axis=1))
    return float(tf.reduce_mean(tf.cast(is_correct, tf.float32)))


@contextmanager
def recording(options: argparse.Namespace) -> Iterator[None]:
    """Record everything that runs inside the block."""
    tb_debugger_plugin.enable_dump_debug_info(
        options.logdir,
        tensor_debug_mode=options.tensor_debug_mode,
        circular_buffer_size=options.circular_buffer_size,
    )
    try:
        yield
    finally:
        tb_debugger_plugin.disable_dump_debug_info()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the example from the command line."""
    options = arguments(argv)
    console = Console(highlight=False)
    recorder: AbstractContextManager[None] = nullcontext() if options.no_record else recording(options)
    with recorder, progress_bar(console) as progress:
        task = progress.add_task("training", total=options.steps)

        def report(step: int, loss: float, accuracy: float) -> None:
            progress.console.print(f"step {step:3d}   loss {loss:8.4f}   accuracy {accuracy:.3f}")
            progress.advance(task)

        model = train(options.steps, fixed=options.fixed, report=report)
    if options.save_weights:
        np.savez(options.save_weights, *[variable.numpy() for variable in model.trainable_variables])
    if not options.no_record:
        console.print(recorded(options), soft_wrap=True)
    return 0


def progress_bar(console: Console) -> Progress:
    """Return a progress bar below the lines of the steps."""
    return Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=console)


def recorded(options: argparse.Namespace) -> str:
    """One line that says what was recorded, and where."""
    size = sum(file.stat().st_size for file in Path(options.logdir).glob("tfdbg_events.*"))
    kept = options.circular_buffer_size
    extent = "everything" if kept <= 0 else f"the last {kept} records of each kind"
    return f"Recorded {extent} in mode {options.tensor_debug_mode}, {size / 1e6:.1f} MB, in {options.logdir}"


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(prog="buggy_digits", description=__doc__.partition("\n")[0])
    parser.add_argument("--logdir", help="folder to record into (required unless --no-record)")
    parser.add_argument("--steps", type=int, default=20, help="batches to train on (%(default)s)")
    parser.add_argument("--fixed", action="store_true", help="train without the bug")
    parser.add_argument(
        "--tensor_debug_mode", default="FULL_HEALTH", help="what to record of each tensor (%(default)s)"
    )
    parser.add_argument(
        "--circular_buffer_size", type=int, default=-1, help="records to keep; -1 keeps all, up to max_bytes"
    )
    parser.add_argument("--no-record", action="store_true", help="train without the recorder")
    parser.add_argument("--save-weights", metavar="FILE.npz", help="keep the trained weights")
    options = parser.parse_args(argv)
    if options.logdir is None and not options.no_record:
        parser.error("give --logdir to record, or --no-record")
    return options


if __name__ == "__main__":
    sys.exit(main())
