"""The message classes of ``protos/debug_event.proto``.

Use::

    event = DebugEvent(wall_time=1.5)
    event.execution.op_type = "Log"
    DebugEvent.FromString(event.SerializeToString()).WhichOneof("what")  # "execution"
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final, TypeAlias

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import FieldDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError

from tb_debugger_plugin.errors import FormatError

# Makes message classes from a serialised ``FileDescriptorSet``, which the package build writes.
#
# Generated ``_pb2`` modules are not used because newer generators write version checks that fail on older
# protobuf runtimes; a descriptor set works with all of them. The classes have a descriptor pool of their own,
# so a process can use them together with TensorFlow's messages of the same shape.


class Descriptors:
    """The messages of one proto.

    Args:
      path: The file of the descriptors.
      package: The package of the messages.
      as_bytes: Fields whose messages stay serialised, such as ``("GraphOpCreation.outputs",)``.

    Raises:
      ImportError: The file is missing.
    """

    def __init__(self, path: Path, package: str, as_bytes: Collection[str] = ()) -> None:
        self._package = package
        self._pool = descriptor_pool.DescriptorPool()
        try:
            serialized = path.read_bytes()
        except FileNotFoundError:
            raise ImportError(
                f"{path.name} is missing. The package build writes it: run `pip install -e .` in the "
                "checkout."
            ) from None
        for file in descriptor_pb2.FileDescriptorSet.FromString(serialized).file:
            _keep_as_bytes(file, as_bytes)
            self._pool.AddSerializedFile(file.SerializeToString())

    def message(self, name: str) -> type[Message]:
        """Return the class of a message, such as ``DebugEvent``."""
        return message_factory.GetMessageClass(self._pool.FindMessageTypeByName(f"{self._package}.{name}"))

    def service(self, name: str) -> ServiceDescriptor:
        """Return the descriptor of a service."""
        return self._pool.FindServiceByName(f"{self._package}.{name}")


def _keep_as_bytes(file: descriptor_pb2.FileDescriptorProto, names: Collection[str]) -> None:
    for message in file.message_type:
        for field in message.field:
            if f"{message.name}.{field.name}" in names:
                # On the wire, both are a length and bytes.
                field.type = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
                field.ClearField("type_name")


_PATH: Final = Path(__file__).with_name("debug_event.binpb")
_message = Descriptors(_PATH, "tb_debugger_plugin").message

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
BadElement = _message("BadElement")
RecordingCounts = _message("RecordingCounts")
NotRecorded = _message("NotRecorded")
TensorProto = _message("TensorProto")
TensorShapeProto = _message("TensorShapeProto")

#: A ``DebugEvent`` that keeps of each op its stack and its outputs as bytes, which few ops have different:
#: it is parsed in a third of the time.
BriefEvent = Descriptors(
    _PATH, "tb_debugger_plugin", ("GraphOpCreation.code_location", "GraphOpCreation.outputs")
).message("DebugEvent")

#: A message of one of these classes. They are made when the program runs, so mypy does not know their fields.
Message: TypeAlias = Any


def is_repeated(field: FieldDescriptor) -> bool:
    """Whether a field, given by its descriptor, has a list of values."""
    try:
        return bool(field.is_repeated)
    except AttributeError:  # protobuf before 6.30
        return bool(getattr(field, "label", None) == FieldDescriptor.LABEL_REPEATED)


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
