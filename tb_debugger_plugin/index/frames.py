"""Finds many framed records at once: where each begins, and whether its bytes are whole.

Takes the bytes of an event file and returns arrays of offsets. This is the fast twin of
:class:`tb_debugger_plugin.events.framing.RecordReader`, which takes over where a record is not plainly whole:
at the end of the bytes, and where something is damaged.

Invariants: the records that :func:`walk` finds are exactly those that the reader yields. The Python
implementation and the library that is compiled from ``src/`` (when there is a compiler; ten times as fast)
find the same records.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.machinery
import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import google_crc32c
import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.events import framing
from tb_debugger_plugin.events.numbers import Integers

_INT, _POINTER, _BYTES = ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p
#: Result and arguments of each function, as in the headers of ``src/``.
_FUNCTIONS: Final[dict[str, tuple[object, tuple[object, ...]]]] = {
    "tbdbg_walk": (_INT, (_BYTES, _INT, _INT, _INT, _POINTER, _POINTER)),
    "tbdbg_templates_new": (_POINTER, (ctypes.c_uint64,)),
    "tbdbg_templates_delete": (None, (_POINTER,)),
    "tbdbg_templates_add": (ctypes.c_int32, (_POINTER, _POINTER, _INT, _INT, _INT)),
    "tbdbg_templates_find": (ctypes.c_int32, (_POINTER, _POINTER, _INT)),
    "tbdbg_templates_match": (None, (_POINTER, _POINTER, _POINTER, _POINTER, _INT, *[_POINTER] * 4)),
    "tbdbg_executions_new": (_POINTER, (ctypes.c_uint64, _POINTER, ctypes.c_int32)),
    "tbdbg_executions_delete": (None, (_POINTER,)),
    "tbdbg_executions_decode": (None, (_POINTER, _POINTER, _POINTER, _POINTER, _INT, _POINTER, _POINTER)),
    "tbdbg_executions_copy": (None, (_POINTER,) * 6),
    "tbdbg_executions_text": (_POINTER, (_POINTER, ctypes.c_int32, ctypes.c_int32, _POINTER)),
    "tbdbg_gather": (None, (_POINTER, _POINTER, _INT, _INT, _POINTER)),
}


@functools.cache
def load_library() -> ctypes.CDLL | None:
    """Return the library; None when the package was built without a compiler."""
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        path = Path(__file__).with_name(f"_frames{suffix}")
        if path.exists():
            # A library that was built from older sources lacks functions.
            with contextlib.suppress(OSError, AttributeError):
                return _with_types(ctypes.CDLL(str(path)))
    return None


def _with_types(loaded: ctypes.CDLL) -> ctypes.CDLL:
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


Bytes = npt.NDArray[np.uint8]

_LENGTH: Final = struct.Struct("<Q")
#: Records are compared word by word, including the last one.
_WORD: Final = 8
#: Bytes that are read beyond the limit, so that the last record is seldom cut.
_SLACK: Final = 1 << 16
#: Bytes of the first chunk. Each further chunk is four times as long while all records are whole, up to what
#: a processor has in its cache. In a file that is damaged everywhere, reading begins again at each record.
_FIRST_CHUNK: Final = 1 << 18
_LAST_CHUNK: Final = 1 << 20


@dataclass(frozen=True)
class RecordFrames:
    """Whole records in one piece of memory.

    Attributes:
      data: The bytes.
      starts: Where each payload begins in the data.
      lengths: The length of each payload in bytes.
      base: The offset of the data in the file.
    """

    data: Bytes
    starts: Integers
    lengths: Integers
    base: int

    @property
    def offsets(self) -> Integers:
        """Where each record begins in the file."""
        return self.starts + (self.base - framing.HEADER_SIZE)

    @property
    def ends(self) -> Integers:
        """Where the next record begins in the file."""
        return self.starts + self.lengths + (self.base + framing.FOOTER_SIZE)

    def payload(self, row: int) -> bytes:
        """Return the payload of one record."""
        start = int(self.starts[row])
        return self.data[start : start + int(self.lengths[row])].tobytes()


def walk(data: bytes, stop: int) -> tuple[Integers, Integers]:
    """Find the consecutive records at the beginning of some bytes.

    Args:
      data: Bytes that begin with a record.
      stop: The offset from which on no record may begin.

    Returns:
      Where each payload begins, and its length, up to the first record that is damaged or not whole.
    """
    library = load_library()
    return walk_in_python(data, stop) if library is None else _walk_compiled(library, data, stop)


def _walk_compiled(library: ctypes.CDLL, data: bytes, stop: int) -> tuple[Integers, Integers]:
    capacity = len(data) // framing.OVERHEAD
    starts, lengths = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    count = library.tbdbg_walk(data, len(data), stop, capacity, starts.ctypes.data, lengths.ctypes.data)
    return starts[:count].copy(), lengths[:count].copy()


def walk_in_python(data: bytes, stop: int) -> tuple[Integers, Integers]:
    """Do the same as :func:`walk`, without the compiled library."""
    starts = np.array(_chain(data, stop), np.int64)
    content = np.frombuffer(data, np.uint8)
    lengths = _fields(content, starts - framing.HEADER_SIZE, "<u8").astype(np.int64)
    good = _fields(content, starts - framing.FOOTER_SIZE, "<u4") == _length_crcs(lengths)
    count = len(starts) if good.all() else int(np.argmin(good))
    starts, lengths = starts[:count], lengths[:count]
    ends = starts + lengths
    good = _fields(content, ends, "<u4") == _crcs(data, starts, ends)
    count = count if good.all() else int(np.argmin(good))
    return starts[:count], lengths[:count]


def _chain(data: bytes, stop: int) -> list[int]:
    # A wrong length leads to wrong offsets, but its checksum does not match and ends the list there.
    starts: list[int] = []
    note, unpack = starts.append, _LENGTH.unpack_from
    at, last = 0, len(data) - framing.OVERHEAD
    stop = min(stop, last + 1)
    while at < stop:
        next_record: int = at + unpack(data, at)[0] + framing.OVERHEAD
        if next_record > len(data):
            break
        note(at + framing.HEADER_SIZE)
        at = next_record
    return starts


def _fields(content: Bytes, offsets: Integers, kind: str) -> npt.NDArray[np.unsignedinteger]:
    size = np.dtype(kind).itemsize
    if not len(offsets):
        return np.empty(0, kind)
    windows = np.lib.stride_tricks.sliding_window_view(content, size)
    return windows[offsets].view(kind).reshape(-1)


def _length_crcs(lengths: Integers) -> npt.NDArray[np.uint32]:
    different, inverse = np.unique(lengths, return_inverse=True)
    crcs = [framing.masked_crc(_LENGTH.pack(length)) for length in different.tolist()]
    return np.array(crcs, np.uint32)[inverse.reshape(-1)]


def _crcs(data: bytes, starts: Integers, ends: Integers) -> npt.NDArray[np.uint32]:
    value = google_crc32c.value
    plain = [value(data[start:end]) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    crcs = np.array(plain, np.uint32)
    return ((crcs >> np.uint32(15)) | (crcs << np.uint32(17))) + np.uint32(0xA282EAD8)


def _needed(data: bytes, starts: Integers, lengths: Integers) -> Bytes:
    # A few records before a damaged one must not keep the whole chunk in memory.
    end = int(starts[-1] + lengths[-1]) + _WORD
    return np.frombuffer(data if 2 * end > len(data) else data[:end], np.uint8)


class FrameReader:
    """Iterates over the records of a stream, many at a time; afterwards ``end`` is how the stream ended.

    The same as :class:`~tb_debugger_plugin.events.framing.RecordReader`, except for the type of the items.

    Args:
      source: A seekable binary stream, or bytes.
      offset: The offset of the first record.
      limit: Stop once this many bytes have been read as records; None = no limit.
    """

    def __init__(self, source: BinaryIO | bytes, offset: int = 0, limit: int | None = None) -> None:
        self._stream: BinaryIO = io.BytesIO(source) if isinstance(source, bytes) else source
        self._size = self._stream.seek(0, io.SEEK_END)
        self._stop = self._size if limit is None else min(self._size, offset + limit)
        self.end = framing.End(framing.EndKind.CLEAN, offset)

    def __iter__(self) -> Iterator[RecordFrames]:
        """Yield whole records, then set ``end``."""
        chunk = _FIRST_CHUNK
        while self.end.kind is framing.EndKind.CLEAN and self.end.offset < self._stop:
            at = self.end.offset
            stop = min(self._stop, at + chunk)
            chunk = min(4 * chunk, _LAST_CHUNK)
            self._stream.seek(at)
            data = self._stream.read(min(stop + _SLACK, self._size) - at)
            starts, lengths = walk(data, stop - at)
            if len(starts):
                frames = RecordFrames(_needed(data, starts, lengths), starts, lengths, at)
                yield frames
                self.end = framing.End(framing.EndKind.CLEAN, int(frames.ends[-1]))
            if self.end.offset < stop:
                yield from self._slow_record()

    def _slow_record(self) -> Iterator[RecordFrames]:
        # Damage, the end of the file, or a record that is longer than the chunk.
        reader = framing.RecordReader(self._stream, self.end.offset, limit=1)
        for offset, payload in reader:
            data = np.frombuffer(payload, np.uint8)
            length = np.array([len(payload)], np.int64)
            yield RecordFrames(data, np.zeros(1, np.int64), length, offset + framing.HEADER_SIZE)
        self.end = reader.end
