"""Reads dumps: the tensor of each file, counted, as rows of ``graph_executions``.

Takes the files of some dumps and returns columns. A file that cannot be read, or that holds no tensor, is a
row without numbers, so that what the folder names is what the list shows.

Invariant: memory is bounded by the bytes that are read, whatever shapes the files claim.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from google.protobuf.message import DecodeError

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.dtypes import STRING, numpy_dtype
from tb_debugger_plugin.events.dumps.files import tensor_place
from tb_debugger_plugin.events.dumps.folders import read_start
from tb_debugger_plugin.events.framing import MAX_PAYLOAD
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.events.messages import Message, TensorProto
from tb_debugger_plugin.events.modes import STORED, TensorDebugMode
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.events.wire import BYTES, VARINT, fields
from tb_debugger_plugin.index import tensors

#: Numbers of fields of ``TensorProto``.
_DTYPE: Final = 1
_SHAPE: Final = 2
_MAX_DTYPE: Final = 255
_VALUES: Final = tuple(
    field.name
    for field in TensorProto.DESCRIPTOR.fields
    if field.name.endswith("_val") or field.name == "tensor_content"
)


@dataclass
class DumpBatch:
    """Dumps that are read one by one; lives while a commit is made.

    Attributes:
      bytes: The bytes of the files that were read.
      problem: Why the last file could not be read, as a sentence; empty if it could.
    """

    bytes: int = 0
    problem: str = ""
    _protos: list[Message] = field(default_factory=list)

    def read(self, file: Location) -> int:
        """Read the dump of the next row.

        Returns:
          The number of bytes of the file, as far as it was read.
        """
        self.problem = ""
        size, proto = 0, None
        try:
            data, whole = read_start(file, MAX_PAYLOAD)
            size = len(data)
            proto = _tensor(data, whole)
            if not whole:
                self.problem = f"It has more than {MAX_PAYLOAD >> 20} MiB, so it was not counted."
        except FormatError as error:
            self.problem = f"It is damaged or cut off: {error}"
        except OSError as error:
            self.problem = f"It cannot be read: {error.strerror or error}."
        self.bytes += size
        self._protos.append(proto)
        return size

    def columns(self, intern_shape: Callable[[str, int], int]) -> dict[str, Array]:
        """Return the columns of the summaries of all rows.

        Args:
          intern_shape: Returns the number of a shape by its text and rank.
        """
        modes = [int(TensorDebugMode.FULL_TENSOR)] * len(self._protos)
        columns = dict(tensors.summarize(modes, self._protos, intern_shape).columns)
        empty = np.array([proto is None or not holds_value(proto) for proto in self._protos], bool)
        if empty.any():
            # A variable without a value is written as a tensor without elements, which must not count as 0.
            for name in columns.keys() & {*STORED}:
                if name != "size":
                    columns[name] = np.where(empty, np.nan, columns[name])
            for name, value in (("health", tensors.NOT_MEASURED), ("mode", TensorDebugMode.NO_TENSOR)):
                columns[name] = np.where(empty, int(value), columns[name]).astype(np.uint8)
        return columns


def holds_value(proto: Message) -> bool:
    """Whether a dumped tensor has its elements; a variable that was not initialised has none.

    Args:
      proto: A ``TensorProto`` as the debug op ``DebugIdentity`` writes it, with all elements.
    """
    if numpy_dtype(proto.dtype) is None and proto.dtype != STRING:
        return False
    return any(len(getattr(proto, name)) for name in _VALUES) or any(
        dim.size == 0 for dim in proto.tensor_shape.dim
    )


def _tensor(data: bytes, whole: bool) -> Message:
    place = tensor_place(data, whole=whole)
    end = place.offset + place.length
    if not whole:
        return _head(data, place.offset)
    if end > len(data):
        raise FormatError("the tensor does not end in the file")
    try:
        proto = TensorProto.FromString(data[place.offset : end])
    except DecodeError as error:
        raise FormatError(str(error)) from error
    proto.ClearField("summary_mode")
    return proto


def _head(data: bytes, begin: int) -> Message:
    """Return dtype and shape of a tensor of which the first bytes are there."""
    proto = TensorProto()
    for entry in fields(data, begin, whole=False):
        if entry.number == _DTYPE and entry.kind == VARINT:
            proto.dtype = min(entry.value, _MAX_DTYPE)
        elif entry.number == _SHAPE and entry.kind == BYTES and entry.end <= len(data):
            try:
                proto.tensor_shape.MergeFromString(data[entry.begin : entry.end])
            except DecodeError as error:
                raise FormatError(str(error)) from error
    return proto
