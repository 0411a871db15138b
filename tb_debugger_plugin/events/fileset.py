"""A reader and a writer of file sets, and the names of their files.

One run of a program on one host writes one set of files ``tfdbg_events.<unix seconds>.<host>.<suffix>`` in
one folder. A set has a metadata file; a folder without one holds no run.

Invariant: reading a set never fails because of its contents; damage is reported together with the whole
records.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events import framing, tail
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.events.messages import DebugEvent, Message, parse_event

METADATA: Final = "metadata"
SOURCE_FILES: Final = "source_files"
STACK_FRAMES: Final = "stack_frames"
GRAPHS: Final = "graphs"
EXECUTION: Final = "execution"
GRAPH_EXECUTION_TRACES: Final = "graph_execution_traces"
SESSION_RUNS: Final = "session_runs"

#: All suffixes, in the order in which files must be read: records come before those that refer to them.
SUFFIXES: Final = (
    *(METADATA, SOURCE_FILES, STACK_FRAMES, GRAPHS),
    *(SESSION_RUNS, GRAPH_EXECUTION_TRACES, EXECUTION),
)
#: The suffixes of the two long lists.
TAILED: Final = (EXECUTION, GRAPH_EXECUTION_TRACES)
#: The suffixes of files that only some programs need.
OPTIONAL: Final = (SESSION_RUNS,)
#: The suffixes of files that may have a tail file.
WITH_TAIL: Final = (*TAILED, SESSION_RUNS)

#: How often a file is read again because its ring was drained while it was read.
_ATTEMPTS: Final = 8
_PREFIX: Final = "tfdbg_events"
_METADATA_NAME: Final = re.compile(
    rf"^{_PREFIX}\.(?P<seconds>\d{{1,18}})\.(?P<host>.+)\.{METADATA}$", re.DOTALL
)
_EVENT_FILE_NAME: Final = re.compile(rf"^{_PREFIX}\.\d+\..+\.({'|'.join(SUFFIXES)})$", re.DOTALL)


@dataclass(frozen=True, order=True)
class FileSet:
    """The names of one file set.

    Attributes:
      folder: Location of the files.
      start_seconds: Unix time in the names.
      host: Host name in the names.
    """

    folder: Location
    start_seconds: int
    host: str

    @property
    def prefix(self) -> str:
        """The common beginning of the file names, up to and including the last dot."""
        return f"{_PREFIX}.{self.start_seconds}.{self.host}."

    def path(self, suffix: str) -> Location:
        """Return the path of one of the files, of the same class as the folder; the file need not exist."""
        return self.folder / (self.prefix + suffix)

    def tail_path(self, suffix: str) -> Location:
        """Return the path of the tail file of ``execution`` or ``graph_execution_traces``."""
        return self.path(suffix + tail.SUFFIX)


def parse_metadata_name(folder: Location, name: str) -> FileSet | None:
    """Return the file set to which a metadata file belongs.

    Args:
      folder: Location of the file.
      name: Its name without the folder.

    Returns:
      The set; None when `name` is not the name of a metadata file.
    """
    match = _METADATA_NAME.match(name)
    return match and FileSet(folder, int(match["seconds"]), match["host"])


def find_file_sets(folder: Location) -> list[FileSet]:
    """List the file sets of one folder (not of folders below it), oldest first.

    Args:
      folder: A dump root. One that does not exist has no file sets.
    """
    try:
        names = [entry.name for entry in folder.iterdir()]
    except OSError:
        return []
    return sorted(files for name in names if (files := parse_metadata_name(folder, name)))


@dataclass(frozen=True)
class EventRecord:
    """One event and its position in the file.

    Attributes:
      offset: Position of its first byte in the file; None when the event is only in the tail file.
      event: The ``DebugEvent``.
    """

    offset: int | None
    event: Message


@dataclass(frozen=True)
class Damage:
    """A part of a file that could not be read.

    Attributes:
      path: The file.
      offset: Position of the first damaged byte; None when the whole file cannot be used.
      reason: A sentence.
    """

    path: Location
    offset: int | None
    reason: str


@dataclass(frozen=True)
class FileContents:
    """The contents of one file of a set and of its tail file.

    Attributes:
      records: All whole records, in order.
      damages: The parts that had to be left out.
      truncated_at: Offset of an unfinished last record; None when there is none.
    """

    records: tuple[EventRecord, ...]
    damages: tuple[Damage, ...]
    truncated_at: int | None


def read_file(path: Location) -> FileContents:
    """Read the whole of one event file, without its tail file.

    Args:
      path: An event file; a missing one counts as empty.
    """
    try:
        with path.open("rb") as stream:
            return _decode(path, *framing.read_records(stream))
    except FileNotFoundError:
        return FileContents((), (), None)


def read_event_file(path: Location) -> FileContents:
    """Read a file as `read_file` does, after checking that it is an event file.

    Args:
      path: Any file.

    Raises:
      FormatError: Neither its name nor its first record is that of an event file.
    """
    contents = read_file(path)
    first = contents.records[0] if contents.records else None
    if _EVENT_FILE_NAME.match(path.name) or (first and first.offset == 0 and first.event.WhichOneof("what")):
        return contents
    raise FormatError(f"{path} is not an event file: it does not begin with a debug event.")


def _decode(path: Location, records: list[tuple[int, bytes]], ends: list[framing.End]) -> FileContents:
    damages = [Damage(path, end.offset, end.reason) for end in ends if end.kind is framing.EndKind.CORRUPT]
    decoded = []
    for offset, payload in records:
        try:
            decoded.append(EventRecord(offset, parse_event(payload)))
        except FormatError as error:
            damages.append(Damage(path, offset, str(error)))
    last = ends[-1]
    truncated = last.offset if last.kind is framing.EndKind.TRUNCATED else None
    return FileContents(tuple(decoded), tuple(damages), truncated)


def read_with_tail(files: FileSet, suffix: str) -> FileContents:
    """Read one event file and the records of its tail file that are not in the event file yet.

    Args:
      files: The set.
      suffix: One of :data:`SUFFIXES`.
    """
    path = files.path(suffix)
    if suffix not in WITH_TAIL:
        return read_file(path)
    try:
        contents, state = _read_at_one_moment(path, files.tail_path(suffix))
    except FormatError as error:
        contents = read_file(path)
        damage = Damage(files.tail_path(suffix), None, str(error))
        return FileContents(contents.records, (*contents.damages, damage), contents.truncated_at)
    return contents if state is None else _with_tail(files, suffix, contents, state)


def _read_at_one_moment(path: Location, tail_path: Location) -> tuple[FileContents, tail.Tail | None]:
    """Read a file and its tail so that no record is lost between the two reads."""
    before = tail.read_tail(tail_path)
    contents = read_file(path)
    for _ in range(_ATTEMPTS):
        # A journal read before the file loses nothing: records drained since then are in the file. A ring
        # drops records, so its latest state is needed.
        if before is None or before.mode is tail.TailMode.JOURNAL:
            break
        after = tail.read_tail(tail_path)
        if after is not None and after.file_size == before.file_size:
            return contents, after
        before, contents = after, read_file(path)
    return contents, before


def _with_tail(files: FileSet, suffix: str, contents: FileContents, state: tail.Tail) -> FileContents:
    path = files.path(suffix)
    whole = contents.truncated_at if contents.truncated_at is not None else _size(path)
    extra = _decode(files.tail_path(suffix), *framing.read_records(state.after(whole)))
    moved = tuple(EventRecord(None, record.event) for record in extra.records)
    return FileContents(contents.records + moved, contents.damages + extra.damages, None)


def _size(path: Location) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _open_for_append(path: str) -> BinaryIO:
    return open(path, "ab")


class FileSetWriter:
    """Appends events to the files of one set, from the creation of the files to ``close()``.

    Use::

        with FileSetWriter(dump_root, host="worker0", start_time=time.time()) as writer:
            event = DebugEvent()
            event.source_file.file_path = "train.py"
            writer.write("source_files", event)

    All methods may be called from any thread. Each call of :meth:`write` flushes its events to the operating
    system before it returns, so they survive the process.

    Args:
      dump_root: An existing folder.
      host: Host name for the file names.
      start_time: Seconds since the epoch; the names hold whole seconds.
      suffixes: The files to create now. The first write to a file with another suffix creates that file.
      opener: Opens a path for appending bytes, in place of the local file system.
      clock: Seconds since the epoch, for events that have no ``wall_time``.

    Raises:
      OSError: A file cannot be created.
    """

    def __init__(
        self,
        dump_root: str | Path,
        host: str,
        start_time: float,
        *,
        suffixes: Iterable[str] = (METADATA, SOURCE_FILES, STACK_FRAMES, GRAPHS),
        opener: Callable[[str], BinaryIO] = _open_for_append,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.files = FileSet(Path(dump_root), int(start_time), host)
        self._root = str(dump_root)
        self._opener = opener
        self._clock = clock
        self._lock = threading.Lock()  # guards _streams and what is written to them
        self._streams: dict[str, BinaryIO] = {}
        for suffix in suffixes:
            self._streams[suffix] = opener(self.path(suffix))

    def path(self, suffix: str) -> str:
        """Return the path of one of the files, below ``dump_root`` as the caller gave it."""
        return f"{self._root.rstrip('/') or '/'}/{self.files.prefix}{suffix}"

    def descriptor(self, suffix: str) -> int:
        """Return the descriptor of one of the files that were created with the set."""
        return self._streams[suffix].fileno()

    def write(self, suffix: str, *events: Message) -> None:
        """Append events to one file and flush it.

        Args:
          suffix: One of :data:`SUFFIXES`.
          *events: ``DebugEvent`` messages. An event without a ``wall_time`` gets the present time.

        Raises:
          OSError: The file cannot be written.
          ValueError: The writer is closed.
        """
        for event in events:
            if not event.wall_time:
                event.wall_time = self._clock()
        framed = b"".join(framing.frame(event.SerializeToString()) for event in events)
        with self._lock:
            stream = self._streams.get(suffix)
            if stream is None:
                stream = self._streams[suffix] = self._opener(self.path(suffix))
            stream.write(framed)
            stream.flush()

    def write_metadata(self, **fields: object) -> None:
        """Write the one record of the metadata file, including the version of the format.

        Args:
          **fields: Fields of ``DebugMetadata``.
        """
        event = DebugEvent(wall_time=float(self._clock()))
        event.debug_metadata.file_version = "debug.Event:1"
        for name, value in fields.items():
            if isinstance(value, (list, tuple)):
                getattr(event.debug_metadata, name).extend(value)
            else:
                setattr(event.debug_metadata, name, value)
        self.write(METADATA, event)

    def close(self) -> None:
        """Close the files. Further calls do nothing."""
        with self._lock:
            for stream in self._streams.values():
                if not stream.closed:
                    stream.close()

    def __enter__(self) -> FileSetWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
