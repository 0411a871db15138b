"""The file beside dumps that says where the program made the ops of its graph.

Takes the folder of a run of dumps and returns records, which are framed as in event files. TensorFlow ignores
the file. A call that was profiled has a file of the same form with the times of its ops.

Invariant: any bytes give the whole records before the first damage.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.dumps.folders import read_start
from tb_debugger_plugin.events.framing import MAX_PAYLOAD, OVERHEAD, RecordReader
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.events.messages import Message, parse_event

#: The kinds of records of the two files; others are none of ours.
OF_GRAPH: Final = frozenset({"source_file", "stack_frame_with_id", "graph_op_creation"})
OF_TIMES: Final = frozenset({"session_request", "session_run", "op_times"})


class PythonRecord(NamedTuple):
    """A record.

    Attributes:
      kind: Which field it has.
      event: The ``DebugEvent``.
      end: The offset after it.
    """

    kind: str
    event: Message
    end: int


def records(file: Location, kinds: frozenset[str], offset: int = 0) -> Iterator[PythonRecord]:
    """Yield the records of a file.

    Args:
      file: The file; one that cannot be read has no records.
      kinds: The kinds that are wanted.
      offset: Where to begin: at the end of a record.
    """
    try:
        data, _ = read_start(file, MAX_PAYLOAD)
    except OSError:
        return
    for begin, payload in RecordReader(data, offset):
        try:
            event = parse_event(payload)
        except FormatError:
            return
        kind = event.WhichOneof("what")
        if kind in kinds:
            yield PythonRecord(kind, event, begin + len(payload) + OVERHEAD)


class PythonFrame(NamedTuple):
    """A frame of a stack.

    Attributes:
      path: The source file.
      line: From 1.
      function: The function.
      text: The line's text; empty if it is not known.
    """

    path: str
    line: int
    function: str
    text: str


def stacks(file: Location) -> dict[str, tuple[PythonFrame, ...]]:
    """Return where each op was made: its frames, outermost first.

    Args:
      file: The file; one that cannot be read has no stacks.
    """
    paths: list[str] = []
    frames: dict[str, PythonFrame] = {}
    found: dict[str, tuple[PythonFrame, ...]] = {}
    for kind, event, _ in records(file, OF_GRAPH):
        if kind == "source_file":
            paths.append(event.source_file.file_path)
        elif kind == "stack_frame_with_id":
            place = event.stack_frame_with_id.file_line_col
            path = paths[place.file_index] if 0 <= place.file_index < len(paths) else ""
            frames[event.stack_frame_with_id.id] = PythonFrame(path, place.line, place.func, place.code)
        else:
            creation = event.graph_op_creation
            ids = creation.code_location.stack_frame_ids
            found[creation.op_name] = tuple(frames[one] for one in ids if one in frames)
    return found
