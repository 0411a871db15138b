"""What the controller does with eager ops and their tensors: the only place where it needs TensorFlow."""

from __future__ import annotations

import functools
from types import FrameType
from typing import Any

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.capture.stacks.calls import RunningLine

Array = npt.NDArray[Any]


@functools.lru_cache(maxsize=4096)
def is_op(op_type: str) -> bool:
    """Return whether a name is that of an op, and not of a function."""
    from tensorflow.python.framework import op_def_registry

    return op_def_registry.get(op_type) is not None


def place(frame: FrameType) -> tuple[str, int]:
    """Return path and line of the program in a running stack; empty and 0 if there is none."""
    from tb_debugger_plugin.capture.stacks.frames import user_place

    return user_place(frame)


def lines(frame: FrameType) -> list[RunningLine]:
    """Return the lines of the program in a running stack, innermost first."""
    from tb_debugger_plugin.capture.stacks.frames import running_lines

    return list(running_lines(frame))


def read(tensor: Any) -> Array:
    """Return the elements of an eager tensor; objects for strings.

    Raises:
      TypeError: It has none: a resource, or a variant.
    """
    return np.asarray(tensor._numpy_internal())


def make(array: Array, like: Any) -> Any:
    """Return an eager tensor of the dtype, and on the device, of another one."""
    import tensorflow as tf

    with tf.device(like.device):
        return tf.constant(array, dtype=like.dtype)
