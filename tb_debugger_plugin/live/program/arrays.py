"""Elements of tensors as arrays, as short texts, and as the bytes that travel to a debugger."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from tb_debugger_plugin.capture.gate import HeldElements
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events import dtypes, wire
from tb_debugger_plugin.events.numbers import Array

#: Most elements of a value that is shown as text, and most bytes of a string.
_FEW: Final = 4
_SHORT: Final = 40
#: Bytes of a part of elements that travels.
PART: Final = 1 << 20


def array_of(elements: HeldElements) -> Array:
    """Return the elements of a tensor that the gate holds; numbers are not copied.

    Raises:
      UsageError: NumPy has no arrays of the dtype.
    """
    if elements.dtype == dtypes.STRING:
        array = np.empty(math.prod(elements.shape), object)
        array[:] = elements.strings(0, array.size)
        return array.reshape(elements.shape)
    kind = dtypes.numpy_dtype(elements.dtype)
    if kind is None:
        name = dtypes.dtype_name(elements.dtype) or "its dtype"
        raise UsageError(f"A tensor of {name} has no elements that can be shown.")
    return np.frombuffer(memoryview(elements), kind).reshape(elements.shape)  # type: ignore[arg-type]


def short_text(array: Array) -> str:
    """Return a value with fewer than 5 elements as text; empty for a larger one, or for long strings."""
    if array.size > _FEW or any(isinstance(one, bytes) and len(one) > _SHORT for one in array.flat):
        return ""
    return _text(array.astype(np.float32) if array.dtype.kind == "V" else array)


def _text(array: Array) -> str:
    return str(array[()]) if array.ndim == 0 else f"[{', '.join(map(_text, map(np.asarray, array)))}]"


def parts_of(array: Array, begin: int, end: int) -> Iterator[bytes]:
    """Yield a range of elements as they travel: see `ElementsPart`.

    Args:
      array: The elements.
      begin: The first one.
      end: The one after the last.

    Raises:
      UsageError: There is no such range.
    """
    if not 0 <= begin <= end <= array.size:
        raise UsageError(f"The tensor has elements 0 to {array.size}; {begin} to {end} is no range of them.")
    flat = array.reshape(-1)[begin:end]
    return _parts_of_strings(flat) if flat.dtype.kind == "O" else _parts_of_numbers(flat)


def _parts_of_numbers(flat: Array) -> Iterator[bytes]:
    step = max(1, PART // flat.itemsize)
    for at in range(0, flat.size, step):
        yield np.ascontiguousarray(flat[at : at + step]).tobytes()


def _parts_of_strings(flat: Array) -> Iterator[bytes]:
    data = bytearray()
    for one in flat:
        data += wire.varint(len(one)) + one
        while len(data) >= PART:
            yield bytes(data[:PART])
            del data[:PART]
    if data:
        yield bytes(data)
