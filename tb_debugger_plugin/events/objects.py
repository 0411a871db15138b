"""Converts event files into JSON-like objects, which ``tbdbg dump --json`` prints.

Yields an object for each record of a file or a file set, with ``file``, ``offset`` (null when the record is
only in a tail file) and ``event``; and an object for each part that could not be read, with ``damage``
instead of ``event``. Fields have the names of ``protos/debug_event.proto``, and values are as in protobuf's
JSON: bytes are base64; integers of 64 bits are text, and so are ``NaN``, ``Infinity`` and ``-Infinity``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf import json_format

from tb_debugger_plugin.events.fileset import SUFFIXES, FileContents, FileSet, read_event_file, read_with_tail
from tb_debugger_plugin.events.locations import Location


def event_objects(path: Location) -> Iterator[dict[str, Any]]:
    """Yield the objects of one event file, without its tail file.

    Args:
      path: The file.

    Raises:
      FormatError: The file is not an event file.
    """
    return _objects(path.name, read_event_file(path))


def set_objects(files: FileSet) -> Iterator[dict[str, Any]]:
    """Yield the objects of a whole file set, its tail files included.

    Args:
      files: The set.
    """
    for suffix in SUFFIXES:
        yield from _objects(files.path(suffix).name, read_with_tail(files, suffix))


def _objects(name: str, contents: FileContents) -> Iterator[dict[str, Any]]:
    for record in contents.records:
        event = json_format.MessageToDict(record.event, preserving_proto_field_name=True)
        yield {"file": name, "offset": record.offset, "event": event}
    for damage in contents.damages:
        yield {"file": damage.path.name, "offset": damage.offset, "damage": damage.reason}
    if contents.truncated_at is not None:
        yield {"file": name, "offset": contents.truncated_at, "damage": "an unfinished record"}
