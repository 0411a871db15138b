"""Arrays in place of the elements of a recorded tensor, and of its message."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.events.messages import Message
from tb_debugger_plugin.index.values import stored

Array = npt.NDArray[Any]


class ArrayElements:
    """The elements of an array."""

    dtype = 1

    def __init__(self, array: Array) -> None:
        self.shape, self.kind = array.shape, array.dtype
        self._flat = array.reshape(-1)

    def read(self, begin: int, end: int) -> Array:
        return self._flat[begin:end]


def whole_tensor(proto: Message) -> Array | None:
    """Return all values of a ``TensorProto`` as a flat array.

    Args:
      proto: As for :func:`stored`.

    Returns:
      The values; None when :func:`stored` returns None, and when few values stand for a huge tensor.
    """
    tensor = stored(proto)
    if tensor is None or tensor.repeats > 1 << 24:
        return None
    return np.concatenate([tensor.values, np.repeat(tensor.values[-1:], tensor.repeats)])
