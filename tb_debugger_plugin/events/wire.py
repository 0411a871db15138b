"""A reader of protobuf's wire format, field by field, without making messages.

Takes bytes and yields the fields of one message with their places. What is not asked for costs no memory, so
hostile bytes cannot make many objects out of few bytes.

Invariant: any bytes give fields or a :class:`~tb_debugger_plugin.errors.FormatError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

from tb_debugger_plugin.errors import FormatError

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5

_FIXED: Final = {FIXED64: 8, FIXED32: 4}
_MAX_SHIFT: Final = 63


class Indexed(Protocol):
    """Bytes that are read one by one."""

    def __getitem__(self, at: int, /) -> int:
        """Return the byte at a place."""
        ...


class Field(NamedTuple):
    """A field of a message.

    Attributes:
      number: Its number.
      kind: Its wire type.
      begin: Where its bytes begin, without tag and length; of a varint, where the varint begins.
      end: Where they end.
      value: The number of a varint; 0 otherwise.
    """

    number: int
    kind: int
    begin: int
    end: int
    value: int


def read_varint(data: Indexed, at: int, end: int) -> tuple[int, int]:
    """Return the number at a place, and the place after it.

    Raises:
      FormatError: The bytes end inside the number, or it is too long.
    """
    result = shift = 0
    while at < end and shift <= _MAX_SHIFT:
        byte = data[at]
        result |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return result, at
        shift += 7
    raise FormatError(f"A number at byte {at} is not complete.")


def varint(value: int) -> bytes:
    """Encode a number that is not negative."""
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def fields(
    data: bytes | memoryview, begin: int = 0, end: int | None = None, *, whole: bool = True
) -> Iterator[Field]:
    """Yield the fields of a message in memory; arguments and errors are those of :func:`fields_of`.

    Args:
      data: Bytes that hold the message.
      begin: Where it begins.
      end: Where it ends; None = where the bytes end.
      whole: Whether the bytes are all there; if not, the last field may end after them.
    """
    return fields_of(data, begin, len(data) if end is None else end, whole=whole)


def fields_of(data: Indexed, begin: int, end: int, *, whole: bool = True) -> Iterator[Field]:
    """Yield the fields of a message, of which only tags, lengths and numbers are looked at.

    Args:
      data: Gives each byte.
      begin: Where the message begins.
      end: Where it ends.
      whole: Whether the bytes are all there; if not, the last field may end after them.

    Raises:
      FormatError: The bytes are not a message.
    """
    at, stop = begin, end
    while at < stop:
        tag, at = read_varint(data, at, stop)
        number, kind = tag >> 3, tag & 7
        value, first = 0, at
        if kind == VARINT:
            value, at = read_varint(data, at, stop)
        elif kind == BYTES:
            size, first = read_varint(data, at, stop)
            at = first + size
        elif kind in _FIXED:
            at += _FIXED[kind]
        else:
            raise FormatError(f"Byte {at} is not the beginning of a field.")
        if not number or (at > stop and whole):
            raise FormatError(f"The field at byte {first} does not end in the message.")
        yield Field(number, kind, first, at, value)
