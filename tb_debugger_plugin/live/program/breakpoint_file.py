"""Keeps breakpoints in a file of the dump root, for the next run of the same script.

Invariants: what is read is data, of a regular file of this user. A file that is odd in any way is ignored,
with a reason; so is one of another script. Reading never waits, and writing never fails the program.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from tb_debugger_plugin.errors import DebuggerError, FormatError
from tb_debugger_plugin.live.messages.messages import Breakpoint, Message
from tb_debugger_plugin.live.messages.own_files import own_bytes
from tb_debugger_plugin.live.program.breakpoints import MOST, BreakpointList

NAME: Final = "tb_debugger_breakpoints.json"
_VERSION: Final = 1
_MAX_BYTES: Final = 1 << 20
_WHERE: Final[dict[str, type]] = {
    **dict.fromkeys(("op_name", "op_type", "name_regex", "layer_regex", "function_regex", "path"), str),
    **dict.fromkeys(("slot", "line"), int),
    "calls": bool,
}
_FIELDS: Final[dict[str, type]] = {
    "where": dict,
    "condition": str,
    "ignore": int,
    "enabled": bool,
    "label": str,
    "first_only": bool,
    "log_only": bool,
}


def save(folder: str, script: str, breakpoints: Iterable[Message]) -> None:
    """Write the file.

    Args:
      folder: The dump root.
      script: Path of the program.
      breakpoints: What the user asked for.

    Raises:
      OSError: It cannot be written.
    """
    rows = [_row(one) for one in breakpoints]
    text = json.dumps(
        {"version": _VERSION, "script": os.path.basename(script), "breakpoints": rows}, indent=1
    )
    with tempfile.NamedTemporaryFile("w", dir=folder, prefix=f".{NAME}.", delete=False) as file:
        file.write(text)
    os.replace(file.name, Path(folder) / NAME)


def _row(message: Message) -> dict[str, object]:
    where = {name: getattr(message.where, name) for name in _WHERE}
    return {"where": where, **{name: getattr(message, name) for name in _FIELDS if name != "where"}}


def load(folder: str, script: str) -> list[Message]:
    """Read the file.

    Args:
      folder: The dump root.
      script: Path of the program.

    Returns:
      The breakpoints; none if there is no file, or if it is that of another script.

    Raises:
      FormatError: The file is odd: its breakpoints are not used.
    """
    try:
        # Not a private file: the folder may be shared, and breakpoints are no secret.
        data = own_bytes(Path(folder) / NAME, _MAX_BYTES, is_private=False)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise FormatError(f"{NAME} cannot be read: {error.strerror}") from error
    except FormatError as error:
        raise FormatError(f"{NAME} is not used. {str(error).rstrip('.')}") from error
    content = _parsed(data)
    if content["script"] != os.path.basename(script):
        return []
    return _checked([_message(row) for row in content["breakpoints"]])


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{NAME} is no JSON") from error
    content = _fields(content, {"version": int, "script": str, "breakpoints": list})
    if content["version"] != _VERSION or len(content["breakpoints"]) > MOST:
        raise FormatError(f"{NAME} has another version, or too many breakpoints")
    return content


def _fields(row: object, kinds: dict[str, type]) -> dict[str, Any]:
    if not isinstance(row, dict) or {name: type(value) for name, value in row.items()} != kinds:
        raise FormatError(f"{NAME} has other fields than breakpoints have")
    return row


def _message(row: object) -> Message:
    if isinstance(row, dict):
        row = {"first_only": False, "log_only": False, **row}  # a file from before there was a choice
    fields = _fields(row, _FIELDS)
    _fields(fields["where"], _WHERE)
    try:
        return Breakpoint(**fields)
    except (TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"{NAME} has a number that is too large, or a text that is none") from error


def _checked(messages: list[Message]) -> list[Message]:
    trial = BreakpointList()
    try:
        for message in messages:
            trial.keep(message)
    except DebuggerError as error:
        raise FormatError(f"{NAME} has a breakpoint that cannot be used: {error}") from error
    return messages
