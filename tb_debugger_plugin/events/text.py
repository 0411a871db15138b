"""A stable text dump of event files, which golden tests compare and ``tbdbg dump`` prints.

Converts events into lines: a paragraph for each record, fields in the order of their numbers, and a summary
on one line with the names of its columns. With a :class:`Normalizer`, the dumps of two recordings of one
program are equal: ids, times, hosts and folders become small numbers and fixed words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor

from tb_debugger_plugin.events.fileset import (
    OPTIONAL,
    SUFFIXES,
    FileContents,
    FileSet,
    read_event_file,
    read_with_tail,
)
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.events.messages import Message, is_repeated
from tb_debugger_plugin.events.modes import SUMMARY_COLUMNS, mode_name

_MAX_TEXT: Final = 200
#: Names of the columns of a summary by mode.
_COLUMNS: Final = {int(mode): names for mode, names in SUMMARY_COLUMNS.items()}
_ID_FIELDS: Final = frozenset(
    {
        "graph_id",
        "outer_context_id",
        "tfdbg_context_id",
        "id",
        "stack_frame_ids",
        "tfdbg_run_id",
        "called_graph_ids",
    }
)
_TENSOR_ID_FIELDS: Final = frozenset({"input_tensor_ids", "output_tensor_ids"})
_FUNCTION_NUMBER: Final = re.compile(r"^(__(?:inference|forward|backward)_.*?)_\d+(?:_\d+)?$")


class Normalizer:
    """Replaces values that differ between two recordings of one program by values that do not.

    Each dump needs a new object, because it numbers ids in the order in which it meets them.
    """

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def text(self, field: str, value: str) -> str:
        """Return the value of a string field in the dump."""
        if field in _ID_FIELDS:
            return self._ids.setdefault(value, f"id{len(self._ids)}") if value else ""
        if field == "host_name":
            return "host"
        if field == "file_path":
            return Path(value).name
        return _FUNCTION_NUMBER.sub(r"\1_N", value)

    def number(self, field: str, value: float) -> float | str:
        """Return the value of a number field in the dump."""
        if field == "wall_time":
            return "TIME"
        if field in _TENSOR_ID_FIELDS:
            return self._ids.setdefault(f"tensor {value}", f"t{len(self._ids)}")
        return value


class _Verbatim(Normalizer):
    def text(self, field: str, value: str) -> str:
        return value

    def number(self, field: str, value: float) -> float | str:
        return value


def _tensor_text(tensor: Message, mode: int) -> str:
    shape = [dim.size for dim in tensor.tensor_shape.dim]
    if tensor.dtype == 2 and len(tensor.tensor_content) % 8 == 0 and tensor.tensor_content:
        values = np.frombuffer(tensor.tensor_content, "<f8").tolist()
        names = _COLUMNS.get(tensor.summary_mode or mode, ())
        if len(names) == len(values):
            return " ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
        return f"float64{shape} {values}"
    fields = [f"{f.name}={list(v)}" for f, v in tensor.ListFields() if f.name.endswith("_val")]
    content = f"content={tensor.tensor_content.hex()}" if tensor.tensor_content else ""
    return " ".join(filter(None, (f"dtype={tensor.dtype}{shape}", content, *fields)))[:_MAX_TEXT]


def _scalar_text(field: FieldDescriptor, value: bytes | str | float, normalize: Normalizer) -> str:
    if field.name == "tensor_debug_mode":
        return mode_name(int(value))
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    if isinstance(value, str):
        return repr(normalize.text(field.name, value)[:_MAX_TEXT])
    return str(normalize.number(field.name, value))


def _field_lines(
    field: FieldDescriptor, items: Iterable[Message], normalize: Normalizer, indent: str, mode: int
) -> Iterator[str]:
    if field.message_type is None:
        texts = [_scalar_text(field, item, normalize) for item in items]
        yield f"{indent}{field.name}: {', '.join(texts)}"
    elif field.message_type.name == "TensorProto":
        for item in items:
            yield f"{indent}{field.name}: {_tensor_text(item, mode)}"
    else:
        for item in items:
            yield f"{indent}{field.name}:"
            yield from _message_lines(item, normalize, indent + "  ")


def _message_lines(message: Message, normalize: Normalizer, indent: str) -> Iterator[str]:
    mode = getattr(message, "tensor_debug_mode", 0)
    for field, value in message.ListFields():
        items = value if is_repeated(field) else [value]
        yield from _field_lines(field, items, normalize, indent, mode)


def event_lines(event: Message, normalize: Normalizer | None = None) -> list[str]:
    """Return the lines of one event.

    Args:
      event: A ``DebugEvent``.
      normalize: Replaces ids and times; None = keep them.

    Returns:
      First the kind of the record, then its fields, indented.
    """
    kind = event.WhichOneof("what") or "nothing"
    return [kind, *_message_lines(event, normalize or _Verbatim(), "  ")]


def _contents_lines(contents: FileContents, normalize: Normalizer | None) -> Iterator[str]:
    for number, record in enumerate(contents.records):
        kind, *lines = event_lines(record.event, normalize)
        position = "in the tail" if record.offset is None else f"at {record.offset}"
        yield f"#{number} {kind}" + ("" if normalize else f" {position}")
        yield from lines
    for damage in contents.damages:
        position = "" if damage.offset is None else f" at {damage.offset}"
        yield f"! damaged{position}: {damage.reason}"
    if contents.truncated_at is not None:
        yield f"! unfinished record at {contents.truncated_at}"


def dump_file(path: Location, normalize: Normalizer | None = None) -> Iterator[str]:
    """Yield the lines of one event file, without its tail file.

    Args:
      path: The file.
      normalize: Replaces ids and times; None = keep them.

    Raises:
      FormatError: The file is not an event file.
    """
    contents = read_event_file(path)
    yield f"== {path.name.rpartition('.')[2] if normalize else path.name}"
    yield from _contents_lines(contents, normalize)


def dump_file_set(files: FileSet, normalize: Normalizer | None = None) -> Iterator[str]:
    """Yield the lines of a whole file set, its tail files included.

    Args:
      files: The set.
      normalize: Replaces ids and times; None = keep them.
    """
    for suffix in SUFFIXES:
        contents = read_with_tail(files, suffix)
        if suffix in OPTIONAL and contents == FileContents((), (), None):
            continue
        yield f"== {suffix if normalize else files.path(suffix).name}"
        yield from _contents_lines(contents, normalize)


def event_objects(path: Location) -> Iterator[dict[str, object]]:
    """Yield the objects of one event file, without its tail file.

    Args:
      path: The file.

    Raises:
      FormatError: The file is not an event file.
    """
    return _objects(path.name, read_event_file(path))


def set_objects(files: FileSet) -> Iterator[dict[str, object]]:
    """Yield the objects of a whole file set, its tail files included.

    Args:
      files: The set.
    """
    for suffix in SUFFIXES:
        yield from _objects(files.path(suffix).name, read_with_tail(files, suffix))


def _objects(name: str, contents: FileContents) -> Iterator[dict[str, object]]:
    for record in contents.records:
        event = json_format.MessageToDict(record.event, preserving_proto_field_name=True)
        yield {"file": name, "offset": record.offset, "event": event}
    for damage in contents.damages:
        yield {"file": damage.path.name, "offset": damage.offset, "damage": damage.reason}
    if contents.truncated_at is not None:
        yield {"file": name, "offset": contents.truncated_at, "damage": "an unfinished record"}
