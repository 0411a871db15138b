"""Arrays in place of the elements of a recorded tensor."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]


class ArrayElements:
    """The elements of an array."""

    dtype = 1

    def __init__(self, array: Array) -> None:
        self.shape, self.kind = array.shape, array.dtype
        self._flat = array.reshape(-1)

    def read(self, begin: int, end: int) -> Array:
        return self._flat[begin:end]
