"""Reads a run's files from where the last reading stopped.

Takes one file of a set and its state. Returns batches of decoded records, and notices of what could not be
read. The state is the offset to resume at; it is stored beside the rows, in the same transaction.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import io
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO, Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events import framing, tail
from tb_debugger_plugin.events.fileset import TAILED, WITH_TAIL, FileSet
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.events.messages import Message
from tb_debugger_plugin.index.bounds import parse_brief
from tb_debugger_plugin.index.frames import FrameReader, RecordFrames
from tb_debugger_plugin.index.records import Decoder, Rows, join

_FINGERPRINT_BYTES: Final = 64
#: Notices of one batch.
_MAX_NOTICES: Final = 100

#: One offset, or an array of them.
Offset = TypeVar("Offset", int, npt.NDArray[np.int64])


class FileKey(NamedTuple):
    """Names one file of a run by the number of its host and its suffix."""

    host: int
    suffix: str


class ReadState(str, enum.Enum):
    """How far a file could be read. The values are those of column ``state`` of ``files``."""

    #: The file ends where a record ends, or is not read to its end yet.
    OPEN = "open"
    #: The file ends inside a record.
    TRUNCATED = "truncated"
    #: The file cannot be read beyond ``resume``.
    CORRUPT = "corrupt"
    #: The file has not been there yet.
    MISSING = "missing"


_STATE_AT: Final = {
    framing.EndKind.CLEAN: ReadState.OPEN,
    framing.EndKind.TRUNCATED: ReadState.TRUNCATED,
    framing.EndKind.CORRUPT: ReadState.CORRUPT,
}


@dataclass(frozen=True)
class FileState:
    """The state of reading one file.

    Attributes:
      resume: The first byte that is not read yet, counted in the file followed by its journal tail.
      size: Bytes of the file at the last reading.
      state: How far the file could be read.
      fingerprint: A hash of the file's first bytes; when it changes, the file was replaced.
    """

    resume: int = 0
    size: int = 0
    state: ReadState = ReadState.OPEN
    fingerprint: str = ""


@dataclass(frozen=True)
class Notice:
    """A message for the user about a file.

    Attributes:
      file: The name of the file without the folder.
      position: A byte offset, or None.
      message: A sentence.
    """

    file: str
    position: int | None
    message: str


@dataclass
class Batch:
    """Consecutive records of one file.

    Attributes:
      events: The decoded ``DebugEvent`` messages of a short file.
      state: The file's state after the last record.
      more: Whether there is more to read now.
      notices: What had to be left out.
      frames: Records of one of the two long lists that are not decoded yet.
      rows: Decoded records of one of the two long lists.
    """

    events: list[Message] = field(default_factory=list)
    state: FileState = FileState()
    more: bool = False
    notices: list[Notice] = field(default_factory=list)
    frames: list[RecordFrames] = field(default_factory=list)
    rows: Rows | None = None

    def note(self, notices: Sequence[Notice]) -> None:
        """Add notices up to a limit: a file can be damaged at each record."""
        self.notices += notices[: max(0, _MAX_NOTICES - len(self.notices))]

    def times(self) -> npt.NDArray[np.float64]:
        """Return the ``wall_time`` of each row."""
        return np.empty(0) if self.rows is None else self.rows.times

    def cut(self, count: int) -> Batch:
        """Return the first rows only; the others will be read again."""
        if self.rows is None or count >= len(self.rows):
            return self
        resume = int(self.rows.ends[count - 1] if count else self.rows.offsets[0])
        return Batch(
            state=replace(self.state, resume=resume, state=ReadState.OPEN),
            more=True,
            notices=[notice for notice in self.notices if (notice.position or 0) < resume],
            rows=self.rows.take(slice(count)),
        )

    def rest(self, count: int) -> Batch:
        """Return the rows that :meth:`cut` leaves out."""
        assert self.rows is not None
        begin = int(self.rows.offsets[count])
        notices = [notice for notice in self.notices if (notice.position or 0) >= begin]
        # A copy, because the batch is freed before the rest.
        rows = self.rows.take(np.arange(count, len(self.rows)))
        return Batch(state=self.state, more=self.more, notices=notices, rows=rows)


#: Takes records of a file, and the batch that they belong to.
TakeFrames = Callable[[Batch, RecordFrames], None]
#: Adds records of a stream to a batch, and returns where to go on, or None.
Extend = Callable[[Batch, str, BinaryIO, int, "int | None", int], "int | None"]


class SetFile:
    """One file of a set with its tail; every method reads from the disk."""

    def __init__(self, files: FileSet, suffix: str) -> None:
        self.path = files.path(suffix)
        self._tail_path: Location | None = files.tail_path(suffix) if suffix in WITH_TAIL else None
        self._take = self._keep if suffix in TAILED else self._parse

    def signature(self) -> tuple[int, ...]:
        """Return a value that changes when the file or its tail may have changed; costs two stats."""
        return (*stat_signature(self.path), *(_tail_signature(self._tail_path) if self._tail_path else ()))

    def fingerprint(self, size: int) -> str:
        """Return a hash of the first bytes, at most ``size``."""
        try:
            with self.path.open("rb") as stream:
                head = stream.read(min(size, _FINGERPRINT_BYTES))
        except FileNotFoundError:
            head = b""
        return f"{len(head)}:{hashlib.sha256(head).hexdigest()[:16]}"

    def is_same(self, state: FileState) -> bool:
        """Whether the file is still the file of the state, possibly longer."""
        length = int(state.fingerprint.split(":")[0] or 0) if state.fingerprint else 0
        return self.size_with_journal() >= state.resume and (
            not length or self.fingerprint(length) == state.fingerprint
        )

    def size(self) -> int:
        """Return the bytes of the file; costs one stat."""
        return stat_signature(self.path)[0]

    def size_with_journal(self) -> int:
        """Return the bytes of the file plus those that its journal tail holds beyond its end."""
        size = stat_signature(self.path)[0]
        journal = self.read_tail()
        return size + (len(journal.after(size)) if journal and journal.mode is tail.TailMode.JOURNAL else 0)

    def read_tail(self) -> tail.Tail | None:
        """Return the tail file; None when there is none or it cannot be used."""
        try:
            return tail.read_tail(self._tail_path) if self._tail_path else None
        except (FormatError, OSError):
            return None

    def read(self, state: FileState, limit: int, take: TakeFrames | None = None) -> Batch:
        """Read the next records.

        Args:
          state: The state after the last reading.
          limit: About how many bytes to read.
          take: Takes the records of a long list when they are read; None = the batch does.
        """
        extend = functools.partial(_extend, take or self._take)
        batch = Batch(state=state)
        if state.state is ReadState.CORRUPT:
            return batch
        # The tail is read before the file: records that are drained in between are then in the file.
        journal = self.read_tail()
        try:
            with self.path.open("rb") as stream:
                self._read_stream(stream, batch, limit, extend)
                size = stream.seek(0, 2)
        except FileNotFoundError:
            size = 0
            if not state.resume:
                batch.state = replace(state, state=ReadState.MISSING)
        if journal is not None and journal.mode is tail.TailMode.JOURNAL and not batch.more:
            self._read_journal(journal, batch, extend)
        fingerprint = self.fingerprint(_FINGERPRINT_BYTES)
        batch.state = replace(batch.state, size=max(size, batch.state.resume), fingerprint=fingerprint)
        return batch

    def _keep(self, batch: Batch, frames: RecordFrames) -> None:
        batch.frames.append(frames)

    def _parse(self, batch: Batch, frames: RecordFrames) -> None:
        for row, offset in enumerate(frames.offsets.tolist()):
            try:
                event = parse_brief(frames.payload(row))
            except FormatError as error:
                batch.note([unreadable(self.path.name, offset, str(error))])
                continue
            if not math.isfinite(event.wall_time):
                event.wall_time = 0.0  # damage, which can be neither sorted nor sent as JSON
            batch.events.append(event)

    def _read_stream(self, stream: BinaryIO, batch: Batch, limit: int, extend: Extend) -> None:
        stop = batch.state.resume + limit
        at: int | None = batch.state.resume
        while at is not None and at < stop:
            at = extend(batch, self.path.name, stream, at, stop - at, 0)
        batch.more = batch.state.resume >= stop and batch.state.resume < stream.seek(0, 2)

    def _read_journal(self, journal: tail.Tail, batch: Batch, extend: Extend) -> None:
        start = batch.state.resume
        data = journal.after(start)
        if start < journal.file_size or not data or batch.state.state is ReadState.CORRUPT:
            return
        extend(batch, self.path.name, io.BytesIO(data), 0, None, start)


def _extend(
    take: TakeFrames, batch: Batch, name: str, stream: BinaryIO, offset: int, limit: int | None, base: int
) -> int | None:
    reader = FrameReader(stream, offset, limit)
    for frames in reader:
        take(batch, replace(frames, base=frames.base + base))
    return _finish(batch, name, reader.end, base)


def unreadable(name: str, position: int, reason: str) -> Notice:
    """Make the notice about a record that could not be parsed."""
    return Notice(name, position, f"A record was left out: {reason}.")


def read_rows(file: SetFile, decoder: Decoder, before: Batch, limit: int) -> Batch:
    """Read and decode the next records of one of the two long lists.

    Args:
      file: The file.
      decoder: The decoder of its list and host.
      before: The state after the last reading, and what it read that the result is to begin with.
      limit: About how many bytes to read.
    """
    parts = [] if before.rows is None else [before.rows]

    def take(batch: Batch, frames: RecordFrames) -> None:
        # Decoded as they are read, so that the bytes are still in the cache of the processor.
        parts.append(_decode(batch, frames, file, decoder))

    batch = file.read(before.state, limit, take)
    batch.notices = [*before.notices, *batch.notices]
    batch.rows = join(parts) if parts else None
    return batch


def decoded(batch: Batch, file: SetFile, decoder: Decoder) -> Batch:
    """Decode the records of a batch of one of the two long lists; returns the batch."""
    parts = [_decode(batch, frames, file, decoder) for frames in batch.frames]
    batch.frames.clear()
    batch.rows = join(parts) if parts else None
    return batch


def _decode(batch: Batch, frames: RecordFrames, file: SetFile, decoder: Decoder) -> Rows:
    rows, unreadable_records = decoder.decode(frames)
    batch.notices += [unreadable(file.path.name, bad.offset, bad.reason) for bad in unreadable_records]
    return rows


def _finish(batch: Batch, name: str, end: framing.End, base: int) -> int | None:
    if end.kind is framing.EndKind.CORRUPT:
        rest = "The rest of the file cannot be read." if end.skip_to is None else "It was left out."
        batch.note([Notice(name, base + end.offset, f"Damaged file: {end.reason}. {rest}")])
    if end.skip_to is not None:
        batch.state = replace(batch.state, resume=base + end.skip_to, state=ReadState.OPEN)
        return end.skip_to
    batch.state = replace(batch.state, resume=base + end.offset, state=_STATE_AT[end.kind])
    return None


@dataclass(frozen=True)
class RingBytes:
    """Framed records of a ring, oldest first.

    Attributes:
      data: The bytes.
      begin: How many bytes were ever written to the ring before them.
    """

    data: bytes
    begin: int

    def position(self, offset: Offset) -> Offset:
        """Return the value of column ``position`` for records at offsets of the data."""
        return ring_position(self.begin + offset)


#: No record of a ring.
NO_RING_BYTES: Final = RingBytes(b"", 0)


def ring_position(written: Offset) -> Offset:
    """Return the place of a record in a ring as one number below -1, so that it is no offset in a file.

    Applied to its result, this function returns its argument.

    Args:
      written: How many bytes were ever written to the ring before the record.
    """
    return -2 - written


def ring_bytes(ring: tail.Tail, resume: int) -> RingBytes:
    """Return the records of a ring that are not in its file.

    Args:
      ring: The tail file.
      resume: Bytes of the file that have been read.
    """
    data = ring.after(resume)
    return RingBytes(data, ring.head - len(data))


def ring_events(ring: RingBytes) -> Iterator[Message]:
    """Yield the decoded records; leaves out those that cannot be decoded."""
    for _, payload in framing.read_records(ring.data)[0]:
        try:
            yield parse_brief(payload)
        except FormatError:
            continue


def ring_frames(ring: RingBytes) -> Iterator[RecordFrames]:
    """Yield the records of a ring; their offsets are those in its data."""
    at: int | None = 0
    while at is not None:
        reader = FrameReader(ring.data, at)
        yield from reader
        at = reader.end.skip_to


def stat_signature(path: Location) -> tuple[int, int, int]:
    """Return size, modification time and inode of a file; zeros when it cannot be read."""
    try:
        result = path.stat()
    except OSError:
        return (0, 0, 0)
    return (result.st_size, result.st_mtime_ns, result.st_ino)


def _tail_signature(path: Location) -> tuple[int, ...]:
    try:
        with path.open("rb") as stream:
            head = stream.read(48)
    except OSError:
        return (0, 0)
    return (int.from_bytes(head[24:32], "little"), int.from_bytes(head[32:40], "little"))
