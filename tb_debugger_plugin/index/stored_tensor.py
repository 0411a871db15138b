"""Reads parts of a recorded tensor without reading the rest.

Takes the bytes of an event file and the place of a record. Finds where the elements of a tensor lie in the
record, and returns ranges of them as NumPy arrays.

Invariants: any bytes are accepted, and bytes that make no sense raise a :class:`FormatError`. A shape alone
allocates nothing: no more elements are returned than asked for, and no more bytes are read than their range.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Protocol

import google_crc32c
import numpy as np

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events import dtypes, framing, wire
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.events.messages import Message, TensorProto
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.index.values import MAX_RANK, MAX_SIZE, Stored, stored

#: Bytes that are read at once: to look at fields, and to check a record.
_WINDOW: Final = 1 << 12
_CHUNK: Final = 1 << 20
#: Fields of a message that are looked at; each string of a tensor is a field.
_MAX_FIELDS: Final = 1 << 20
#: Elements that the last one on record may stand for.
_MAX_REPEATS: Final = 1 << 24

_CONTENT: Final = TensorProto.DESCRIPTOR.fields_by_name["tensor_content"].number
#: Numbers of the fields of a ``TensorProto`` that hold elements.
ELEMENT_FIELDS: Final = frozenset(
    {_CONTENT, *(one.number for one in TensorProto.DESCRIPTOR.fields if one.name.endswith("_val"))}
)


class Bytes(Protocol):
    """Bytes of which ranges can be read."""

    def read(self, begin: int, end: int) -> bytes:
        """Return the bytes of a range; fewer at the end."""
        ...


class MemoryBytes:
    """Bytes in memory that stand at an offset of a file.

    Args:
      data: The bytes.
      base: The offset of the first one.
    """

    def __init__(self, data: bytes, base: int = 0) -> None:
        self._data = data
        self._base = base

    def read(self, begin: int, end: int) -> bytes:
        """Return the bytes of a range."""
        return self._data[max(0, begin - self._base) : max(0, end - self._base)]


class FileBytes:
    """The bytes of an open file.

    Args:
      stream: The file, without a buffer if it is on this machine: a buffer reads more than it is asked for.
    """

    def __init__(self, stream: BinaryIO | io.FileIO) -> None:
        self._stream = stream

    def read(self, begin: int, end: int) -> bytes:
        """Return the bytes of a range."""
        self._stream.seek(begin)
        data = self._stream.read(end - begin)
        while 0 < len(data) < end - begin and (more := self._stream.read(end - begin - len(data))):
            data += more
        return data


@contextlib.contextmanager
def open_bytes(path: Location) -> Iterator[FileBytes]:
    """Give the bytes of a file.

    Raises:
      OSError: The file cannot be opened.
    """
    with path.open("rb", buffering=0) if isinstance(path, Path) else path.open("rb") as stream:
        yield FileBytes(stream)


class Span(NamedTuple):
    """A range of bytes; ``end`` is exclusive."""

    begin: int
    end: int


def record_at(source: Bytes, offset: int) -> Span:
    """Return where the payload of a framed record is.

    Args:
      source: The bytes of the file.
      offset: The first byte of the record's frame.

    Raises:
      FormatError: There is no whole record.
    """
    header = source.read(offset, offset + framing.HEADER_SIZE)
    if len(header) < framing.HEADER_SIZE:
        raise FormatError("its record is cut off")
    length = framing.length_of(header)
    begin = offset + framing.HEADER_SIZE
    end = begin + length
    if len(source.read(end + framing.FOOTER_SIZE - 1, end + framing.FOOTER_SIZE)) < 1:
        raise FormatError("its record is cut off")
    return Span(begin, end)


def check_record(source: Bytes, record: Span) -> None:
    """Compare a record with its checksum; needs little memory.

    Raises:
      FormatError: They differ.
    """
    checksum = google_crc32c.Checksum()
    for begin in range(record.begin, record.end, _CHUNK):
        checksum.update(source.read(begin, min(begin + _CHUNK, record.end)))
    crc = int.from_bytes(checksum.digest(), "big")
    if source.read(record.end, record.end + framing.FOOTER_SIZE) != framing.footer(crc):
        raise FormatError("the checksum of its record is wrong")


class _Window:
    """Gives single bytes, of which a few thousand are read at a time."""

    def __init__(self, source: Bytes, end: int) -> None:
        self._source = source
        self._end = end
        self._begin = 0
        self._data = b""

    def __getitem__(self, at: int) -> int:
        if not self._begin <= at < self._begin + len(self._data):
            self._begin = at
            self._data = self._source.read(at, min(at + _WINDOW, self._end))
            if not self._data:
                raise FormatError("its record is cut off")
        return self._data[at - self._begin]


def fields(source: Bytes, message: Span) -> Iterator[wire.Field]:
    """Yield the fields of a message, of which only tags, lengths and numbers are read.

    Raises:
      FormatError: The bytes are not a message, or have too many fields.
    """
    window = _Window(source, message.end)
    try:
        for number, one in enumerate(wire.fields_of(window, message.begin, message.end)):
            if number >= _MAX_FIELDS:
                raise FormatError("it has too many fields")
            yield one
    except FormatError as error:
        raise FormatError(f"its record is not a message: {error}") from error


def message_in(source: Bytes, message: Span, number: int, occurrence: int = 0) -> Span:
    """Return the bytes of a message inside a message.

    Args:
      source: The bytes of the file.
      message: The outer message.
      number: The number of its field.
      occurrence: Which of several, from 0.

    Raises:
      FormatError: There is none.
    """
    found = (one for one in fields(source, message) if (one.number, one.kind) == (number, wire.BYTES))
    for index, one in enumerate(found):
        if index == occurrence:
            return Span(one.begin, one.end)
    raise FormatError("its record holds no such tensor")


class StoredElements(Protocol):
    """The elements of a tensor, in row-major order."""

    @property
    def dtype(self) -> int:
        """TensorFlow's number of the dtype."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        ...

    @property
    def kind(self) -> np.dtype[np.generic]:
        """The dtype of the arrays that :meth:`read` returns: objects for strings, which are bytes."""
        ...

    def read(self, begin: int, end: int) -> Array:
        """Return a range of elements as a flat array, which must not be written to.

        Raises:
          FormatError: The file has changed.
        """
        ...


@dataclass(frozen=True)
class Header:
    """What a tensor's message says beside its elements.

    Attributes:
      dtype: TensorFlow's number of the dtype; 0 for an empty message.
      shape: The shape.
      summary_mode: The mode of the summary that stands here instead of a tensor; 0 for a tensor.
      left_out_bytes: The size of the tensor that the summary stands for.
    """

    dtype: int
    shape: tuple[int, ...]
    summary_mode: int
    left_out_bytes: int


def read_header(source: Bytes, message: Span) -> Header:
    """Read what a ``TensorProto`` says beside its elements.

    Raises:
      FormatError: The bytes are not a ``TensorProto``, or the shape is impossible.
    """
    head = _without_elements(source, message)
    if head.tensor_shape.unknown_rank:
        raise FormatError("its shape is not known")
    shape = tuple(dim.size for dim in head.tensor_shape.dim)
    if len(shape) > MAX_RANK or min(shape, default=0) < 0 or math.prod(shape) >= MAX_SIZE:
        raise FormatError("its shape is impossible")
    return Header(head.dtype, shape, head.summary_mode, head.left_out_bytes)


def _without_elements(source: Bytes, message: Span) -> Message:
    head = TensorProto()
    for one in fields(source, message):
        if one.number in ELEMENT_FIELDS:
            continue
        field = _encoded(source, one)
        try:
            head.MergeFromString(field)
        except Exception as error:  # DecodeError, whose class depends on the version of protobuf
            raise FormatError("its record is not a message") from error
    return head


def _encoded(source: Bytes, one: wire.Field) -> bytes:
    tag = wire.varint(one.number << 3 | one.kind)
    # A shape of the highest rank takes 3 KB; names of dimensions are left out by everyone.
    if one.end - one.begin > _WINDOW * 4:
        raise FormatError("its shape is impossible")
    data = source.read(one.begin, one.end)
    return tag + (wire.varint(len(data)) if one.kind == wire.BYTES else b"") + data


def elements_of(source: Bytes, message: Span) -> StoredElements:
    """Return the elements of a ``TensorProto``.

    Args:
      source: The bytes of the file, which must stay open while elements are read.
      message: The bytes of the message.

    Raises:
      FormatError: The bytes do not fit the shape, or elements of the dtype cannot be read.
    """
    header = read_header(source, message)
    if header.dtype == dtypes.STRING:
        return _strings(source, message, header)
    kind = dtypes.numpy_dtype(header.dtype)
    if kind is None:
        raise FormatError(f"NumPy has no arrays of {dtypes.dtype_name(header.dtype) or 'its dtype'}")
    contents = [one for one in fields(source, message) if (one.number, one.kind) == (_CONTENT, wire.BYTES)]
    if contents:
        held, size = contents[-1].end - contents[-1].begin, math.prod(header.shape) * kind.itemsize
        if held != size:
            raise FormatError(f"its record holds {held:,} bytes, but its shape needs {size:,}")
        return _FileElements(source, contents[-1].begin, header.dtype, header.shape, kind)
    if math.prod(header.shape) == 0:
        return _StoredElements(Stored(np.empty(0, kind)), header.dtype, header.shape, kind)
    return _parsed(source, message, header, kind)


@dataclass(frozen=True)
class _FileElements:
    """Elements that lie in the file as NumPy has them in memory."""

    source: Bytes
    begin: int
    dtype: int
    shape: tuple[int, ...]
    kind: np.dtype[np.generic]

    def read(self, begin: int, end: int) -> Array:
        size = self.kind.itemsize
        data = self.source.read(self.begin + begin * size, self.begin + end * size)
        if len(data) != (end - begin) * size:
            raise FormatError("its file has become shorter")
        return np.frombuffer(data, self.kind)


@dataclass(frozen=True)
class _StoredElements:
    """Elements that were decoded one by one; the last one may stand for many."""

    stored: Stored
    dtype: int
    shape: tuple[int, ...]
    kind: np.dtype[np.generic]

    def read(self, begin: int, end: int) -> Array:
        values = self.stored.values
        part = values[begin:end]
        missing = (end - begin) - len(part)
        return part if not missing else np.concatenate([part, np.repeat(values[-1:], missing)])


def _parsed(source: Bytes, message: Span, header: Header, kind: np.dtype[np.generic]) -> StoredElements:
    tensor = stored(_parse(source, message))
    if tensor is None:
        raise FormatError("its record does not hold as many elements as its shape says")
    _check_repeats(tensor.repeats)
    return _StoredElements(tensor, header.dtype, header.shape, kind)


def _check_repeats(repeats: int) -> None:
    # Nobody writes such a record, and each question about it would take hours.
    if repeats > _MAX_REPEATS:
        raise FormatError(f"its last element stands for {repeats:,} more, which are too many to show")


def _strings(source: Bytes, message: Span, header: Header) -> StoredElements:
    proto, size = _parse(source, message), math.prod(header.shape)
    texts: Sequence[bytes] = (
        _string_list(proto.tensor_content, size) if proto.tensor_content else proto.string_val
    )
    # As for numbers, the last one may stand for all after it; nothing at all stands for empty strings.
    if len(texts) > size:
        raise FormatError("its record does not hold as many elements as its shape says")
    _check_repeats(size - len(texts))
    values = np.empty(max(1, len(texts)), object)
    values[:] = list(texts) or [b""]
    return _StoredElements(Stored(values), header.dtype, header.shape, np.dtype(object))


def _string_list(content: bytes, count: int) -> list[bytes]:
    """Decode strings as TensorFlow's own ops write them: all lengths, then all characters."""
    if count > len(content):
        raise FormatError("its record does not hold as many elements as its shape says")
    at, lengths = 0, []
    for _ in range(count):
        length, at = wire.read_varint(content, at, len(content))
        lengths.append(length)
    ends = list(itertools.accumulate(lengths, initial=at))
    if ends[-1] != len(content):
        raise FormatError("its record does not hold as many elements as its shape says")
    return [content[begin:end] for begin, end in itertools.pairwise(ends)]


def _parse(source: Bytes, message: Span) -> Message:
    try:
        return TensorProto.FromString(source.read(message.begin, message.end))
    except Exception as error:  # DecodeError, whose class depends on the version of protobuf
        raise FormatError("its record is not a message") from error
