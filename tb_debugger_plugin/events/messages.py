"""The message classes of ``protos/debug_event.proto``.

Use::

    event = DebugEvent(wall_time=1.5)
    event.execution.op_type = "Log"
    DebugEvent.FromString(event.SerializeToString()).WhichOneof("what")  # "execution"
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

from google.protobuf.message import DecodeError

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.descriptors import Descriptors

_message = Descriptors(Path(__file__).with_name("debug_event.binpb"), "tb_debugger_plugin").message

DebugEvent = _message("DebugEvent")
DebugMetadata = _message("DebugMetadata")
SourceFile = _message("SourceFile")
FileLineCol = _message("FileLineCol")
StackFrameWithId = _message("StackFrameWithId")
CodeLocation = _message("CodeLocation")
GraphOpCreation = _message("GraphOpCreation")
StaticTensor = _message("StaticTensor")
DebuggedGraph = _message("DebuggedGraph")
DebuggedDevice = _message("DebuggedDevice")
Execution = _message("Execution")
GraphExecutionTrace = _message("GraphExecutionTrace")
OpAttributes = _message("OpAttributes")
DebuggedThread = _message("DebuggedThread")
SessionRequest = _message("SessionRequest")
SessionRun = _message("SessionRun")
OpTimes = _message("OpTimes")
ChangedValue = _message("ChangedValue")
RecordingCounts = _message("RecordingCounts")
NotRecorded = _message("NotRecorded")
TensorProto = _message("TensorProto")
TensorShapeProto = _message("TensorShapeProto")

#: A message of one of these classes. They are made when the program runs, so mypy does not know their fields.
Message: TypeAlias = Any


def parse_event(payload: bytes) -> Message:
    """Decode the payload of one record.

    Args:
      payload: The bytes between the two checksums of a record.

    Returns:
      A ``DebugEvent``.

    Raises:
      FormatError: The bytes are not a serialised ``DebugEvent``.
    """
    try:
        return DebugEvent.FromString(payload)
    except DecodeError as error:
        raise FormatError(f"a record is not a DebugEvent: {error}") from error
