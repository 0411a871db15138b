"""The files of a dump folder: each is one serialised ``Event``, without framing.

Takes bytes and returns the place of the tensor, the text of a log message, or the place of a graph.

Invariant: any bytes give an answer or a :class:`~tb_debugger_plugin.errors.FormatError`, and nothing larger
than the bytes is made of them.
"""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.wire import BYTES, Field, fields

#: Numbers of fields of ``Event``, ``Summary``, ``Summary.Value`` and ``LogMessage``.
_GRAPH_DEF: Final = 4
_SUMMARY: Final = 5
_LOG_MESSAGE: Final = 6
_VALUE: Final = 1
_TENSOR: Final = 8
_MESSAGE: Final = 2
#: Where the tensor of a dump is: the numbers of the fields from the ``Event`` inwards.
TENSOR_FIELDS: Final = (_SUMMARY, _VALUE, _TENSOR)

#: Longer texts say what to fetch in a program that no person wrote.
_MAX_TEXT: Final = 1 << 16


class ByteRange(NamedTuple):
    """A part of a file: where it begins, and its length; it may end after the bytes that were read."""

    offset: int
    length: int


def tensor_place(data: bytes | memoryview, *, whole: bool = True) -> ByteRange:
    """Return the place of the ``TensorProto`` of a dump.

    Args:
      data: The file, or its first bytes.
      whole: Whether the file is all there.

    Raises:
      FormatError: The bytes hold no tensor.
    """
    return _place(data, TENSOR_FIELDS, "tensor", whole=whole)


def graph_place(data: bytes | memoryview) -> ByteRange:
    """Return the place of the ``GraphDef`` of a file of a graph.

    Raises:
      FormatError: The bytes hold no graph.
    """
    return _place(data, (_GRAPH_DEF,), "graph", whole=True)


def _place(data: bytes | memoryview, path: tuple[int, ...], what: str, *, whole: bool) -> ByteRange:
    begin, end = 0, len(data)
    for number in path:
        found = _first(data, number, begin, min(end, len(data)), whole=whole)
        if found is None:
            raise FormatError(f"The file holds no {what}.")
        begin, end = found.begin, found.end
    return ByteRange(begin, end - begin)


def _first(data: bytes | memoryview, number: int, begin: int, end: int, *, whole: bool) -> Field | None:
    for field in fields(data, begin, end, whole=whole):
        if field.number == number and field.kind == BYTES:
            return field
    return None


def log_message(data: bytes) -> str:
    """Return the text of a log message, such as the fetches of a call; cut when it is very long.

    Raises:
      FormatError: The bytes hold no text.
    """
    place = _place(data, (_LOG_MESSAGE, _MESSAGE), "message", whole=True)
    text = data[place.offset : place.offset + min(place.length, _MAX_TEXT)]
    return bytes(text).decode("utf-8", "replace")


class CoreMetadata(NamedTuple):
    """A call of ``Session.run`` as TensorFlow counts it.

    Attributes:
      global_step: The step that the caller gave; -1 if none.
      session_run_index: Number of the call in its session.
      executor_step_index: How often these feeds, fetches and targets ran before.
      input_names: Tensors that were fed.
      output_names: Tensors that were fetched.
      target_nodes: Nodes that were only run.
    """

    global_step: int
    session_run_index: int
    executor_step_index: int
    input_names: list[str]
    output_names: list[str]
    target_nodes: list[str]


def core_metadata(data: bytes) -> CoreMetadata:
    """Return what a core metadata file says.

    Raises:
      FormatError: The bytes are not one.
    """
    try:
        values: Any = json.loads(log_message(data))
        step, session_run, executor_step = (int(values[name]) for name in CoreMetadata._fields[:3])
        inputs, outputs, targets = ([str(name) for name in values[key]] for key in CoreMetadata._fields[3:])
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise FormatError(f"The file is not core metadata: {error}") from error
    if any(abs(number) >= 1 << 63 for number in (step, session_run, executor_step)):
        raise FormatError("The file is not core metadata: a number is too large.")
    return CoreMetadata(step, session_run, executor_step, inputs, outputs, targets)
