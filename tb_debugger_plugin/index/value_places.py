"""Opens the record that holds a value.

Takes a host's file and the position from the tables. Gives the elements, whether the record is in the file,
in the journal that continues the file, or in a ring.

Invariant: a record is compared with its checksum before its first element is read.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import dataclass

from google.protobuf.message import Message

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES, FileSet
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.events.messages import DebugEvent, Execution, GraphExecutionTrace
from tb_debugger_plugin.events.tail import TailMode
from tb_debugger_plugin.index.source import SetFile, ring_position, stat_signature
from tb_debugger_plugin.index.stored_tensor import (
    Bytes,
    Header,
    MemoryBytes,
    Span,
    StoredElements,
    check_record,
    elements_of,
    message_in,
    open_bytes,
    read_header,
    record_at,
)

#: How often a record is looked for that moves from the journal to the file meanwhile.
_ATTEMPTS = 3


@dataclass(frozen=True)
class RecordPlace:
    """Where the record of a value is.

    Attributes:
      suffix: The file: that of executions or of graph executions.
      position: The value of column ``position``.
      slot: The number of the output, for an execution.
    """

    suffix: str
    position: int
    slot: int = 0


def _number(message: type[Message], name: str) -> int:
    return int(message.DESCRIPTOR.fields_by_name[name].number)


#: By suffix, the field of the event and the field of the tensors in it.
_FIELDS = {
    EXECUTION: (_number(DebugEvent, "execution"), _number(Execution, "tensor_protos")),
    GRAPH_EXECUTION_TRACES: (
        _number(DebugEvent, "graph_execution_trace"),
        _number(GraphExecutionTrace, "tensor_proto"),
    ),
}


@contextlib.contextmanager
def open_elements(files: FileSet, place: RecordPlace) -> Iterator[StoredElements]:
    """Give the elements of a value, which can be read while the block runs.

    Args:
      files: The file set of the host.
      place: Where the record is.

    Raises:
      FormatError: The record is not there any more, is damaged, or holds something else.
      OSError: The file cannot be read.
    """
    with _open_tensor(files, place) as (source, message):
        yield elements_of(source, message)


def read_place(files: FileSet, place: RecordPlace) -> Header:
    """Return what a record says of a tensor beside its elements; arguments and errors as above."""
    with _open_tensor(files, place) as (source, message):
        return read_header(source, message)


@contextlib.contextmanager
def _open_tensor(files: FileSet, place: RecordPlace) -> Iterator[tuple[Bytes, Span]]:
    with _open_record(files, place) as (source, record):
        event, tensors = _FIELDS[place.suffix]
        occurrence = place.slot if place.suffix == EXECUTION else 0
        yield source, message_in(source, message_in(source, record, event), tensors, occurrence)


@contextlib.contextmanager
def _open_record(files: FileSet, place: RecordPlace) -> Iterator[tuple[Bytes, Span]]:
    if place.position < 0:
        ring = _in_ring(files, place)
        yield ring, _checked(ring, record_at(ring, 0))
        return
    path = files.path(place.suffix)
    with contextlib.ExitStack() as stack:
        for _ in range(_ATTEMPTS):
            source = stack.enter_context(open_bytes(path))
            with contextlib.suppress(FormatError):
                record = record_at(source, place.position)
                break
            journal = _in_journal(files, place)
            if journal is not None:
                yield journal, _checked(journal, record_at(journal, place.position))
                return
        else:
            record = record_at(source, place.position)  # raises the reason
        _check(path, stat_signature(path)[2], record)
        yield source, record


def _in_ring(files: FileSet, place: RecordPlace) -> MemoryBytes:
    ring = SetFile(files, place.suffix).read_tail()
    written = ring_position(place.position)
    if ring is None or ring.mode is not TailMode.RING or not ring.tail <= written < ring.head:
        raise FormatError("the circular buffer holds it no more")
    return MemoryBytes(ring.data[written - ring.tail :])


def _in_journal(files: FileSet, place: RecordPlace) -> MemoryBytes | None:
    journal = SetFile(files, place.suffix).read_tail()
    if journal is None or journal.mode is not TailMode.JOURNAL or place.position < journal.file_size:
        return None
    return MemoryBytes(journal.after(place.position), place.position)


def _checked(source: Bytes, record: Span) -> Span:
    check_record(source, record)
    return record


@functools.lru_cache(maxsize=4096)
def _check(path: Location, inode: int, record: Span) -> None:
    # Remembered, so that a slice of a long record does not read all of it again.
    with open_bytes(path) as source:
        check_record(source, record)
