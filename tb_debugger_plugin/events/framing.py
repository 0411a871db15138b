"""A reader and a writer of records framed as TFRecords.

Each record is ``u64 length``, ``u32 masked crc32c(length)``, the payload, ``u32 masked crc32c(payload)``, all
little-endian. :func:`frame` makes a record; :class:`RecordReader` splits a stream into records. To this
reader an unfinished last record is an ordinary result, because files are read while they are written.

Invariants: no input makes the reader raise (except for the stream's own I/O errors), and the reader never
allocates more memory than the stream has bytes.
"""

from __future__ import annotations

import enum
import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

import google_crc32c

from tb_debugger_plugin.errors import FormatError

_HEADER: Final = struct.Struct("<QI")
_FOOTER: Final = struct.Struct("<I")
HEADER_SIZE: Final = _HEADER.size
FOOTER_SIZE: Final = _FOOTER.size
OVERHEAD: Final = HEADER_SIZE + FOOTER_SIZE
#: Largest size of a protobuf message; a larger length is damage even when its checksum is right.
MAX_MESSAGE: Final = 2**31 - 1
#: Longer records are skipped, so that one record cannot take as much memory as everything else together.
MAX_PAYLOAD: Final = 1 << 27
#: Bytes that are read at once: few at first, because in a file full of damage a new reader starts at each
#: record.
_FIRST_CHUNK: Final = 1 << 16
_CHUNK: Final = 1 << 22


def masked_crc(data: bytes) -> int:
    """Return the CRC-32C of some bytes, masked as in TFRecords."""
    return masked(google_crc32c.value(data))


def masked(crc: int) -> int:
    """Return a CRC-32C as TFRecords mask it: rotated right by 15, plus 0xa282ead8."""
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def footer(crc: int) -> bytes:
    """Return the bytes after a payload with the given CRC-32C."""
    return _FOOTER.pack(masked(crc))


def length_of(header: bytes) -> int:
    """Return the length of the payload after a header.

    Args:
      header: The :data:`HEADER_SIZE` bytes before the payload.

    Raises:
      FormatError: They are damaged.
    """
    length, length_crc = _HEADER.unpack(header)
    if masked_crc(header[:8]) != length_crc:
        raise FormatError("the checksum of a record's length is wrong")
    if length > MAX_MESSAGE:
        raise FormatError(f"a record has the impossible length of {length} bytes")
    return int(length)


def frame(payload: bytes) -> bytes:
    """Make one record.

    Args:
      payload: A serialised ``DebugEvent``, or any other bytes.

    Returns:
      The payload with its length and both checksums, 16 bytes longer than the payload.
    """
    length = struct.pack("<Q", len(payload))
    return b"".join((length, _FOOTER.pack(masked_crc(length)), payload, _FOOTER.pack(masked_crc(payload))))


class EndKind(enum.Enum):
    """How reading a stream ended."""

    #: The stream ends where a record ends.
    CLEAN = "clean"
    #: The stream ends inside a record: wait for the rest and resume there.
    TRUNCATED = "truncated"
    #: The bytes at the offset are not a record.
    CORRUPT = "corrupt"


@dataclass(frozen=True)
class End:
    """Where and why reading ended.

    Attributes:
      kind: One of the three results.
      offset: First byte that has not been read as a record; reading resumes there, or the damage is there.
      reason: A sentence about the damage; empty unless corrupt.
      skip_to: Offset of the next record if only the payload was damaged; None when it is not known.
    """

    kind: EndKind
    offset: int
    reason: str = ""
    skip_to: int | None = None


class RecordReader:
    """Iterates over the records of a stream from an offset; afterwards ``end`` describes how that ended.

    Use::

        reader = RecordReader(stream, offset=resume_at)
        for offset, payload in reader:
            ...
        resume_at = reader.end.offset

    Args:
      source: A seekable binary stream, or bytes.
      offset: Position of the first byte to read; a record must begin there.
      limit: Bytes of records after which reading stops, as at a clean end; None = no limit.
    """

    def __init__(self, source: BinaryIO | bytes, offset: int = 0, limit: int | None = None) -> None:
        self._stream: BinaryIO = io.BytesIO(source) if isinstance(source, bytes) else source
        self._size = self._stream.seek(0, io.SEEK_END)
        self._stop = self._size if limit is None else min(self._size, offset + limit)
        self._buffer = b""
        self._base = offset
        self._chunk = _FIRST_CHUNK
        self.end = End(EndKind.CLEAN, offset)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield ``(offset, payload)`` of each whole record; afterwards ``end`` is set."""
        position = self.end.offset
        while position < self._stop:
            payload = self._record_at(position)
            if payload is None:
                return
            yield position, payload
            position += len(payload) + OVERHEAD
            self.end = End(EndKind.CLEAN, position)

    def _record_at(self, position: int) -> bytes | None:
        header = self._bytes_at(position, HEADER_SIZE)
        if len(header) < HEADER_SIZE:
            return self._ended(EndKind.TRUNCATED, position)
        try:
            length = length_of(header)
        except FormatError as error:
            return self._ended(EndKind.CORRUPT, position, str(error))
        after = position + length + OVERHEAD
        if after > self._size:
            return self._ended(EndKind.TRUNCATED, position)
        if length > MAX_PAYLOAD:
            reason = f"a record of {length} bytes is skipped; the limit is {MAX_PAYLOAD} bytes"
            return self._ended(EndKind.CORRUPT, position, reason, after)
        body = self._bytes_at(position + HEADER_SIZE, length + FOOTER_SIZE)
        if len(body) < length + FOOTER_SIZE:
            return self._ended(EndKind.TRUNCATED, position)
        payload = body[:length]
        if masked_crc(payload) != _FOOTER.unpack_from(body, length)[0]:
            return self._ended(EndKind.CORRUPT, position, "the checksum of a record is wrong", after)
        return payload

    def _ended(
        self, kind: EndKind, offset: int, reason: str = "", skip_to: int | None = None
    ) -> bytes | None:
        self.end = End(kind, offset, reason, skip_to)
        return None

    def _bytes_at(self, position: int, count: int) -> bytes:
        start = position - self._base
        if start < 0 or start + count > len(self._buffer):
            self._stream.seek(position)
            self._buffer = self._stream.read(max(count, min(self._chunk, self._size - position)))
            self._chunk = min(_CHUNK, 4 * self._chunk)
            self._base = position
            start = 0
        return self._buffer[start : start + count]


def read_records(source: BinaryIO | bytes, offset: int = 0) -> tuple[list[tuple[int, bytes]], list[End]]:
    """Read all whole records of a stream, skipping damaged ones where the next record can still be found.

    Args:
      source: A seekable binary stream, or bytes.
      offset: Position of the first byte to read.

    Returns:
      The records as ``(offset, payload)``, and the ends of reading: all but the last are damaged records that
      were skipped.
    """
    records: list[tuple[int, bytes]] = []
    ends: list[End] = []
    position: int | None = offset
    while position is not None:
        reader = RecordReader(source, position)
        records.extend(reader)
        ends.append(reader.end)
        position = reader.end.skip_to
    return records, ends
