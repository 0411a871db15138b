"""Writes tail files: the records of a journal or of a ring, as the native library leaves them."""

from __future__ import annotations

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.framing import frame
from tb_debugger_plugin.events.tail import _COUNTERS, HEADER_SIZE, MAGIC, TailMode


def build_tail(
    payloads: list[bytes],
    *,
    mode: TailMode,
    file_size: int,
    capacity: int = 4096,
    tail: int = 0,
    dropped: int = 0,
) -> bytes:
    """Build the bytes of a tail file.

    Args:
      payloads: The serialised events of the tail, in order.
      mode: Journal or ring.
      file_size: Size of the sibling event file when records were last drained into it.
      capacity: Bytes of the data area.
      tail: The counter of the first byte; any value, so that a tail can wrap around.
      dropped: Number of records that a ring has overwritten.

    Returns:
      Header and data area.

    Raises:
      FormatError: The records do not fit into the capacity.
    """
    data = b"".join(frame(payload) for payload in payloads)
    if len(data) > capacity:
        raise FormatError(f"{len(data)} bytes of records do not fit into a tail of {capacity}")
    area = bytearray(capacity)
    for position, byte in enumerate(data, start=tail):
        area[position % capacity] = byte
    header = _COUNTERS.pack(MAGIC, capacity, mode, tail + len(data), tail, file_size, dropped)
    return header.ljust(HEADER_SIZE, b"\0") + bytes(area)
