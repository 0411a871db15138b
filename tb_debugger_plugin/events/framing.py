"""TFRecord framing: how a stream of bytes is cut into records.

Each record is ``u64 length``, ``u32 masked crc32c(length)``, the payload, ``u32 masked crc32c(payload)``, all
little-endian. :func:`frame` makes one; :class:`RecordReader` takes a stream apart and, unlike an ordinary
reader, treats an unfinished last record as an ordinary result, because files are read while they are written.

Rule: no input makes the reader raise (the stream's own I/O errors aside), and it never asks for more memory
than the stream has bytes.
"""

from __future__ import annotations

import enum
import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

import google_crc32c

_HEADER: Final = struct.Struct("<QI")
_FOOTER: Final = struct.Struct("<I")
HEADER_SIZE: Final = _HEADER.size
FOOTER_SIZE: Final = _FOOTER.size
OVERHEAD: Final = HEADER_SIZE + FOOTER_SIZE
#: Protobuf messages cannot be longer; a larger length is damage even when its checksum is right.
MAX_MESSAGE: Final = 2**31 - 1
#: Longer records are passed over: looking at one must not take the memory of all else together.
MAX_PAYLOAD: Final = 1 << 27
#: How much is read at once: little at first, since what is damaged everywhere is begun again at each record.
_FIRST_CHUNK: Final = 1 << 16
_CHUNK: Final = 1 << 22


def masked_crc(data: bytes) -> int:
    """CRC-32C of some bytes, masked as TFRecord wants it (rotated right by 15, plus 0xa282ead8)."""
    crc: int = google_crc32c.value(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def frame(payload: bytes) -> bytes:
    """One record.

    Args:
      payload: A serialised ``DebugEvent``; any bytes do.

    Returns:
      The payload with its length and both checksums, 16 bytes longer.
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
      offset: First byte that has not been read as a record; where to resume, or where the damage is.
      reason: A sentence about the damage; empty unless corrupt.
      skip_to: Where the next record begins if only the payload was damaged; None when its place is not known.
    """

    kind: EndKind
    offset: int
    reason: str = ""
    skip_to: int | None = None


class RecordReader:
    """Iterates over the records of a stream from an offset, then says how it ended.

    Use::

        reader = RecordReader(stream, offset=resume_at)
        for offset, payload in reader:
            ...
        resume_at = reader.end.offset

    Args:
      source: A seekable binary stream, or bytes.
      offset: Where to begin; must be where a record begins.
      limit: Stop, as at a clean end, once this many bytes have been read as records; None = no limit.
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
        length, length_crc = _HEADER.unpack(header)
        if masked_crc(header[:8]) != length_crc:
            return self._ended(EndKind.CORRUPT, position, "the checksum of a record's length is wrong")
        if length > MAX_MESSAGE:
            return self._ended(EndKind.CORRUPT, position, f"a record claims to be {length} bytes long")
        after = position + length + OVERHEAD
        if after > self._size:
            return self._ended(EndKind.TRUNCATED, position)
        if length > MAX_PAYLOAD:
            reason = f"a record is {length} bytes long, and none above {MAX_PAYLOAD} is read"
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
    """All whole records of a stream, damaged ones left out where the next one can still be found.

    Args:
      source: A seekable binary stream, or bytes.
      offset: Where to begin.

    Returns:
      The records as ``(offset, payload)``, and the ends that were met: all but the last are damaged records
      that were skipped.
    """
    records: list[tuple[int, bytes]] = []
    ends: list[End] = []
    at: int | None = offset
    while at is not None:
        reader = RecordReader(source, at)
        records.extend(reader)
        ends.append(reader.end)
        at = reader.end.skip_to
    return records, ends
