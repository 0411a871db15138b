"""Plots values as a program computes them: pictures with matplotlib, or text without it."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tb_debugger_plugin.capture.stacks.frames import user_frame
from tb_debugger_plugin.capture.tf_types import Array
from tb_debugger_plugin.techniques.observing import When, observed
from tb_debugger_plugin.techniques.places import (
    checked_turns,
    not_converted,
    number_of_turn,
    usage_error,
)

_BARS = " ▁▂▃▄▅▆▇█"
_BINS = 40


@not_converted
def plot_tensor(
    x: object,
    folder: str | os.PathLike[str] | None = None,
    *,
    name: str = "tensor",
    first_n: int | None = None,
    every: int = 1,
    when: When = None,
) -> tf.Tensor:
    """Plot a value each time that it is computed, or only sometimes.

    Use::

        filters = tb_debugger_plugin.plot_tensor(filters, "plots", name="filters", every=100)

    It works in eager mode, functions, loops, gradients and Keras, but not in functions that XLA compiles.
    With a folder, matplotlib writes a picture for each time: a curve of a vector, a heat map of a matrix, a
    histogram of anything else. Without a folder, the histogram of the finite elements is printed as text.

    Args:
      x: The tensor, of numbers.
      folder: Where to write pictures, such as `"plots"` with `tensor-000001.png`; it is made if it does not
        exist. None (the default): text on the standard output. Needs matplotlib.
      name: The title, and the beginning of the names of files (the default: `"tensor"`).
      first_n: How many times to plot. None (the default): no limit.
      every: Plot one of this many times, beginning with the first; 1 (the default) plots every time.
      when: Whether to plot; see `print_tensor`.

    Returns:
      The same tensor; use it, so that it is plotted before the program goes on.

    Raises:
      UsageError: A number is too small, matplotlib is missing, or the program is being traced for XLA.
    """
    place, turns = user_frame(), checked_turns(first_n, every)
    if folder is not None and importlib.util.find_spec("matplotlib") is None:
        raise usage_error("plot_tensor() needs matplotlib to write pictures: install it, or give no folder.")

    def look(arrays: Sequence[Array]) -> None:
        number = number_of_turn("plot", place, turns)
        if number is None:
            return
        array = np.asarray(arrays[0])
        if folder is None:
            print(f"{name} {number}: {histogram(array)}", flush=True)
        else:
            _write_picture(array, Path(folder), name, number)

    return observed("plot_tensor", [x], look, when)[0]


def histogram(array: Array) -> str:
    """Return the histogram of the finite elements as text, and how many are not finite."""
    numbers = np.abs(array) if np.iscomplexobj(array) else np.asarray(array, np.float64)
    finite = numbers[np.isfinite(numbers)]
    bad = numbers.size - finite.size
    left_out = f", {bad} not finite" if bad else ""
    if not finite.size:
        return f"no finite elements{left_out}"
    counts, edges = np.histogram(finite, min(_BINS, max(finite.size, 1)))
    levels = np.ceil(counts / counts.max() * (len(_BARS) - 1)).astype(int)
    return f"{edges[0]:.4g} |{''.join(_BARS[level] for level in levels)}| {edges[-1]:.4g}{left_out}"


def _write_picture(array: Array, folder: Path, name: str, number: int) -> None:
    # Figure, not pyplot: it needs no display, and may be used in any thread.
    figure = importlib.import_module("matplotlib.figure").Figure()
    axes: Any = figure.subplots()
    if array.ndim == 1:
        axes.plot(array)
    elif array.ndim == 2:
        figure.colorbar(axes.imshow(array, aspect="auto"))
    else:
        numbers = np.ravel(array)
        axes.hist(numbers[np.isfinite(numbers)], bins=_BINS)
    axes.set_title(f"{name} {number}")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}-{number:06}.png")
