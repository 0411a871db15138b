"""Cuts unusually long records down to what the tables have room for.

Takes the bytes of a record and returns the decoded event with its texts and lists cut. Nobody can read a name
of a megabyte, and each text of a log is kept in memory and sent to the page.

Invariant: equal texts stay equal and different ones stay different, so ids still refer to the same things.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import MutableSequence
from typing import Final

from google.protobuf.message import DecodeError

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.messages import (
    BriefEvent,
    CodeLocation,
    Message,
    StaticTensor,
    parse_event,
)

#: Records below this size are not cut.
MIN_BYTES: Final = 1 << 16
#: Characters of a text; a longer text is cut and ends in its length and a hash of the whole.
MAX_TEXT: Final = 4096
#: Entries of a list.
MAX_ENTRIES: Final = 1 << 16
#: Lines of a source file.
MAX_LINES: Final = 1 << 20
#: Stacks, and static tensors, that are kept parsed.
_MOST_PARSED: Final = 1024
#: Messages that are never cut, because they hold a recorded tensor.
_WHOLE: Final = frozenset({"TensorProto"})
#: Fields that nothing reads, and that are mostly the longest of all.
_UNUSED: Final = ("original_graph_def", "instrumented_graph_def", "instrumented_ops")


def parse_bounded(payload: bytes) -> Message:
    """Decode a record as :func:`~tb_debugger_plugin.events.messages.parse_event` does, and cut it.

    Args:
      payload: The bytes of the record.

    Raises:
      FormatError: The bytes are not a serialised ``DebugEvent``.
    """
    event = parse_event(payload)
    if len(payload) > MIN_BYTES:
        if event.HasField("debugged_graph"):
            for name in _UNUSED:
                event.debugged_graph.ClearField(name)
        _bound(event)
    return event


def parse_brief(payload: bytes) -> Message:
    """Decode a record of a short file and cut it; return a ``BriefEvent``.

    Args:
      payload: The bytes of the record.

    Raises:
      FormatError: The bytes are not a serialised ``DebugEvent``.
    """
    if len(payload) > MIN_BYTES:
        return brief(parse_bounded(payload))
    try:
        event = BriefEvent.FromString(payload)
        if event.HasField("graph_op_creation"):
            creation = event.graph_op_creation
            location_of(creation.code_location)
            for output in creation.outputs:
                output_of(output)
    except DecodeError as error:
        raise FormatError(f"a record is not a DebugEvent: {error}") from error
    return event


def brief(event: Message) -> Message:
    """Return a ``DebugEvent`` as a ``BriefEvent``."""
    return BriefEvent.FromString(event.SerializeToString())


@functools.lru_cache(_MOST_PARSED)
def location_of(serialized: bytes) -> Message:
    """Return the ``CodeLocation`` of an op of a ``BriefEvent``; it must not be changed."""
    return CodeLocation.FromString(serialized)


@functools.lru_cache(_MOST_PARSED)
def output_of(serialized: bytes) -> Message:
    """Return the ``StaticTensor`` of an output of a ``BriefEvent``; it must not be changed."""
    return StaticTensor.FromString(serialized)


def bounded_text(text: str) -> str:
    """Return a text as the tables hold it: cut to :data:`MAX_TEXT` characters."""
    if len(text) <= MAX_TEXT:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return f"{text[: MAX_TEXT - 64]}… ({len(text)} characters, {digest})"


def _bound(message: Message) -> None:
    for field, value in message.ListFields():
        if isinstance(value, str):
            setattr(message, field.name, bounded_text(value))
        elif hasattr(value, "ListFields"):
            if value.DESCRIPTOR.name not in _WHOLE:
                _bound(value)
        elif hasattr(value, "__delitem__"):
            _bound_list(value, MAX_LINES if field.name == "lines" else MAX_ENTRIES)


def _bound_list(values: MutableSequence[str | Message], limit: int) -> None:
    del values[limit:]
    for number, value in enumerate(values):
        if isinstance(value, str):
            if len(value) > MAX_TEXT:
                values[number] = bounded_text(value)
        elif not hasattr(value, "ListFields"):
            return  # numbers
        elif value.DESCRIPTOR.name not in _WHOLE:
            _bound(value)
