"""A reader of tail files: the last records of an event file, which the recorder keeps in mapped memory.

When a process is killed, the kernel keeps its mapped pages. So records that were not yet written to
``….execution`` or ``….graph_execution_traces`` are in ``….execution.tail`` and
``….graph_execution_traces.tail``. The reader takes the path of a tail file and returns a consistent
:class:`Tail`. The layout is in ``docs/event-format.md``.

Invariant: a tail never holds overwritten bytes. The recorder may write while the file is read, so the
counters are read again after the data, and bytes that were overwritten in between are left out.
"""

from __future__ import annotations

import enum
import os
import struct
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.locations import Location

MAGIC: Final = b"TBDBGT1\n"
HEADER_SIZE: Final = 4096
SUFFIX: Final = ".tail"
_COUNTERS: Final = struct.Struct("<8sQQQQQQ")
_ATTEMPTS: Final = 8


class TailMode(enum.IntEnum):
    """The use that the recorder makes of a tail file."""

    #: Records that the recorder will move to the event file; none is dropped.
    JOURNAL = 0
    #: The last N records of a circular buffer; older ones are overwritten.
    RING = 1


@dataclass(frozen=True)
class Tail:
    """The state of a tail file at one moment.

    Attributes:
      mode: Journal or ring.
      tail: Number of bytes ever dropped or drained from the front; with ``head``, it shows any change.
      head: Number of bytes ever written.
      file_size: Size of the event file when records were last drained into it.
      data: The framed records, ``head - tail`` bytes in order.
      dropped: Number of records that a ring has overwritten.
    """

    mode: TailMode
    tail: int
    head: int
    file_size: int
    data: bytes
    dropped: int = 0

    def after(self, actual_size: int) -> bytes:
        """Return the framed records that are not in the event file.

        Args:
          actual_size: Bytes of whole records that the event file has now. For a ring, they must have been
            read while ``file_size`` had its present value.

        Returns:
          Whole records of the tail, without those that the event file already holds.
        """
        return self.data[max(0, actual_size - self.file_size) :]


@dataclass(frozen=True)
class _Header:
    capacity: int
    mode: TailMode
    head: int
    tail: int
    file_size: int
    dropped: int


def _parse_header(raw: bytes, data_size: int) -> _Header:
    if len(raw) < _COUNTERS.size:
        raise FormatError("the tail file is shorter than its header")
    magic, capacity, mode, head, tail, file_size, dropped = _COUNTERS.unpack(raw[: _COUNTERS.size])
    if magic != MAGIC:
        raise FormatError("the tail file does not begin with its magic bytes")
    if mode not in (TailMode.JOURNAL, TailMode.RING):
        raise FormatError(f"the tail file has an unknown mode {mode}")
    if capacity > data_size or not tail <= head <= tail + capacity:
        counters = f"tail {tail}, head {head}, capacity {capacity}"
        raise FormatError(f"the tail file's counters do not fit together: {counters}")
    return _Header(capacity, TailMode(mode), head, tail, file_size, dropped)


def _unwrapped(area: bytes, header: _Header) -> bytes:
    if header.head == header.tail:
        return b""
    start = header.tail % header.capacity
    count = header.head - header.tail
    first = area[start : min(start + count, header.capacity)]
    return first + area[: count - len(first)]


def read_tail(path: Location) -> Tail | None:
    """Read a tail file, which may change while it is read.

    Args:
      path: The ``….tail`` file.

    Returns:
      Its state; None when there is no such file (a clean end deletes it) or it is still being set up.

    Raises:
      FormatError: The file exists but is not a tail file, or its counters are impossible.
    """
    try:
        with path.open("rb") as stream:
            # Remote file systems replace files as a whole, so one read is consistent.
            is_local = isinstance(path, Path)
            return _read_consistent(stream.fileno()) if is_local else _read_snapshot(stream.read())
    except FileNotFoundError:
        return None


def _read_snapshot(content: bytes) -> Tail | None:
    if not content[: _COUNTERS.size].strip(b"\0"):
        return None
    header = _parse_header(content, len(content) - HEADER_SIZE)
    area = content[HEADER_SIZE : HEADER_SIZE + header.capacity]
    return _tail(header, _unwrapped(area, header))


def _tail(header: _Header, data: bytes) -> Tail:
    return Tail(header.mode, header.tail, header.head, header.file_size, data, header.dropped)


def _read_consistent(descriptor: int) -> Tail | None:
    size = os.fstat(descriptor).st_size
    raw = os.pread(descriptor, _COUNTERS.size, 0)
    if not raw.strip(b"\0"):
        return None
    before = _parse_header(raw, size - HEADER_SIZE)
    for _ in range(_ATTEMPTS):
        area = os.pread(descriptor, before.capacity, HEADER_SIZE)
        after = _parse_header(os.pread(descriptor, _COUNTERS.size, 0), size - HEADER_SIZE)
        if (after.tail, after.file_size) == (before.tail, before.file_size):
            return _tail(before, _unwrapped(area, before))
        if after.tail <= before.head and after.mode is TailMode.RING:
            # The front was overwritten during the read; the part that both headers call valid is whole.
            kept = _unwrapped(area, before)[after.tail - before.tail :]
            return _tail(replace(after, head=before.head), kept)
        before = after
    return None
