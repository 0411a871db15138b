"""Prints values as a program computes them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

import numpy as np
import tensorflow as tf

from tb_debugger_plugin.capture.stacks.frames import user_frame
from tb_debugger_plugin.capture.tf_types import Array
from tb_debugger_plugin.techniques.observing import When, observed
from tb_debugger_plugin.techniques.places import (
    checked_turns,
    described,
    not_converted,
    number_of_turn,
)


@not_converted
def print_tensor(
    x: object,
    message: str = "",
    *,
    first_n: int | None = None,
    every: int = 1,
    when: When = None,
    summarize: int = 3,
    file: TextIO | None = None,
) -> tf.Tensor:
    """Print a value each time that it is computed, or only sometimes.

    Use::

        loss = tb_debugger_plugin.print_tensor(loss, "loss", every=100)

    It works in eager mode, functions, loops, gradients and Keras, but not in functions that XLA compiles.
    Runs are counted for each line of the program that calls this function.

    Args:
      x: The tensor.
      message: What to print before the value. The default: the line of the program.
      first_n: How many times to print. None (the default): no limit.
      every: Print one of this many times, beginning with the first; 1 (the default) prints every time.
      when: Whether to print: a function that takes the value, or a boolean tensor, of which any element may
        hold. Only these times count. None (the default): always.
      summarize: How many elements to print at the beginning and end of each dimension (the default: 3); -1
        prints all.
      file: Where to print; None (the default) for the standard output.

    Returns:
      The same tensor; use it, so that it is printed before the program goes on.

    Raises:
      UsageError: A number is too small, or the program is being traced for XLA.
    """
    place, turns = user_frame(), checked_turns(first_n, every)
    label = message or described(place)

    def look(arrays: Sequence[Array]) -> None:
        if number_of_turn("print", place, turns) is not None:
            print(f"{label}: {text_of(arrays[0], summarize)}", file=file or sys.stdout, flush=True)

    return observed("print_tensor", [x], look, when)[0]


def text_of(array: Array, summarize: int) -> str:
    """Return dtype, shape and elements in a line, or in several for a matrix."""
    array = np.asarray(array)
    limit = sys.maxsize if summarize < 0 else 2 * summarize
    text = np.array2string(array, threshold=limit, edgeitems=max(summarize, 1), separator=", ")
    between = "\n" if "\n" in text else " "
    return f"{array.dtype} {list(array.shape)}{between}{text}"
