"""The message classes of ``protos/debug_event.proto``.

Importing this module makes them from a serialised ``FileDescriptorSet``, which the package build writes into
the folder of this module. Generated ``_pb2`` modules are not used because newer generators write version
checks that fail on older protobuf runtimes; a descriptor set works with all of them. The classes have a
descriptor pool of their own, so a process can use them together with TensorFlow's messages of the same shape.

Use::

    event = DebugEvent(wall_time=1.5)
    event.execution.op_type = "Log"
    DebugEvent.FromString(event.SerializeToString()).WhichOneof("what")  # "execution"
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from tb_debugger_plugin.errors import FormatError

_DESCRIPTORS = Path(__file__).with_name("debug_event.binpb")
_PACKAGE = "tb_debugger_plugin"


def _load_pool() -> descriptor_pool.DescriptorPool:
    try:
        serialized = _DESCRIPTORS.read_bytes()
    except FileNotFoundError:
        raise ImportError(
            f"{_DESCRIPTORS.name} is missing. The package build writes it: "
            "run `pip install -e .` in the checkout."
        ) from None
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(serialized).file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


_POOL = _load_pool()


def _message(name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


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
