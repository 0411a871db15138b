"""The elements of a tensor that a running program holds, read range by range.

Takes a tensor as the program lists it. Returns what reads recorded tensors' elements, too: an
:class:`~tb_debugger_plugin.index.stored_tensor.StoredElements`.

Invariants: what a program answers is checked against the shape; a shape alone allocates nothing. All reads of
one tensor's elements together end after some time, whatever shape the program gives it.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from tb_debugger_plugin.errors import FormatError, NotFoundError
from tb_debugger_plugin.events import dtypes, wire
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.index.stored_tensor import StoredElements
from tb_debugger_plugin.index.values import MAX_RANK, MAX_SIZE
from tb_debugger_plugin.live.messages.messages import Message
from tb_debugger_plugin.live.viewer.service import Service

#: Bytes of strings that are read at once.
_MAX_STRINGS: Final = 64 << 20
#: Seconds for all reads that one question needs.
_PATIENCE_S: Final = 120.0


def elements_of(service: Service, tensor: Message) -> StoredElements:
    """Return the elements of a tensor.

    Args:
      service: The service of the program.
      tensor: A ``Tensor`` of its list.

    Raises:
      NotFoundError: The program does not hold its value, or it cannot be what the program says it is.
    """
    if not tensor.has_value:
        raise NotFoundError(tensor.no_value[:1000] or "The program does not hold this value.")
    shape = checked_shape(tensor)
    if shape is None:
        raise NotFoundError("The program gives the tensor an unknown or impossible shape.")
    kind = np.dtype(object) if tensor.dtype == dtypes.STRING else dtypes.numpy_dtype(tensor.dtype)
    if kind is None:
        name = dtypes.dtype_name(tensor.dtype) or "its dtype"
        raise NotFoundError(f"NumPy has no arrays of {name}.")
    return _LiveElements(service, tensor.number, tensor.dtype, shape, kind)


def checked_shape(tensor: Message) -> tuple[int, ...] | None:
    """Return the shape of a tensor; None if it is not known, or if no tensor can have it."""
    shape = tuple(tensor.shape)
    if (
        tensor.unknown_shape
        or len(shape) > MAX_RANK
        or min(shape, default=0) < 0
        or math.prod(shape) >= MAX_SIZE
    ):
        return None
    return shape


@dataclass(frozen=True)
class _LiveElements:
    """Elements in the memory of the program."""

    service: Service
    number: int
    dtype: int
    shape: tuple[int, ...]
    kind: np.dtype[np.generic]
    end: float = field(default_factory=lambda: time.monotonic() + _PATIENCE_S)

    def read(self, begin: int, end: int) -> Array:
        if begin >= end:
            return np.empty(0, self.kind)
        if time.monotonic() > self.end:
            raise FormatError("the program takes too long to send it; ask for a slice")
        if self.kind.kind == "O":
            return _strings(self.service.read_elements(self.number, begin, end, _MAX_STRINGS), end - begin)
        size = (end - begin) * self.kind.itemsize
        data = self.service.read_elements(self.number, begin, end, size)
        if len(data) != size:
            raise FormatError(f"the program sent {len(data):,} bytes in place of {size:,}")
        return np.frombuffer(data, self.kind)


def _strings(data: bytes, count: int) -> Array:
    texts: list[bytes] = []
    at = 0
    while at < len(data) and len(texts) < count:
        length, at = wire.read_varint(data, at, len(data))
        if length > len(data) - at:
            break
        texts.append(data[at : at + length])
        at += length
    if len(texts) != count or at != len(data):
        raise FormatError("the program did not send as many strings as were asked for")
    values = np.empty(count, object)
    values[:] = texts
    return values
