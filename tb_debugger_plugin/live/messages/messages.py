"""The message classes of ``protos/live.proto``, and the methods of its service."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from tb_debugger_plugin.events.messages import Descriptors
from tb_debugger_plugin.events.messages import Message as Message

_DESCRIPTORS: Final = Descriptors(Path(__file__).with_name("live.binpb"), "tb_debugger_plugin.live")
_message = _DESCRIPTORS.message

State = _message("State")
Call = _message("Call")
StackLine = _message("StackLine")
CallCount = _message("CallCount")
Pause = _message("Pause")
Tensor = _message("Tensor")
Number = _message("Number")
Where = _message("Where")
Breakpoint = _message("Breakpoint")
LoggedHit = _message("LoggedHit")
Watched = _message("Watched")
WatchedPoint = _message("WatchedPoint")
Notice = _message("Notice")
Command = _message("Command")
Outcome = _message("Outcome")
FollowRequest = _message("FollowRequest")
ListTensorsRequest = _message("ListTensorsRequest")
TensorList = _message("TensorList")
ElementsRequest = _message("ElementsRequest")
ElementsPart = _message("ElementsPart")
EvaluateRequest = _message("EvaluateRequest")
Evaluation = _message("Evaluation")


class Method(NamedTuple):
    """A method of the service.

    Attributes:
      name: Its name.
      request: Class of its argument.
      answer: Class of its result, or of each part of it.
      is_stream: Whether it answers in parts.
    """

    name: str
    request: type[Message]
    answer: type[Message]
    is_stream: bool


_SERVICE: Final = _DESCRIPTORS.service("LiveProgram")
#: Name of the service in addresses of its methods.
SERVICE_NAME: Final[str] = _SERVICE.full_name
METHODS: Final[tuple[Method, ...]] = (
    Method("Follow", FollowRequest, State, is_stream=True),
    Method("Control", Command, Outcome, is_stream=False),
    Method("ListTensors", ListTensorsRequest, TensorList, is_stream=False),
    Method("ReadElements", ElementsRequest, ElementsPart, is_stream=True),
    Method("Evaluate", EvaluateRequest, Evaluation, is_stream=False),
)
