"""Reads TOML files of users: rules of their own, and alerts that they allow.

Takes a path, and returns the tables of one kind with the sentence of each error. A file that is not there has
none.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

from tb_debugger_plugin.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: Larger files are refused: they are read whenever a run is opened.
_MAX_BYTES: Final = 1 << 20


def tables_of(path: Path, kind: str) -> list[dict[str, Any]]:
    """Return the tables ``[[kind]]`` of a TOML file.

    Args:
      path: The file.
      kind: The name of the tables.

    Raises:
      UsageError: The file cannot be read, or is something else.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise UsageError(f"{path} has more than {_MAX_BYTES:,} bytes.")
        read = tomllib.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{path} cannot be read: {error}") from error
    tables = read.get(kind, [])
    if set(read) - {kind} or not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise UsageError(f"{path} must hold tables [[{kind}]] and nothing else.")
    return tables


def text_of(path: Path, table: dict[str, Any], name: str, default: str | None = None) -> str:
    """Return a text of a table.

    Raises:
      UsageError: It is missing and has no default, or is no text.
    """
    value = table.get(name, default)
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{path}: {name} must be a text, but is {value!r:.50}.")
    return value


def check_names(path: Path, table: dict[str, Any], known: tuple[str, ...]) -> None:
    """Check that a table has known names only, so that a misspelt one is not left out in silence.

    Raises:
      UsageError: There is another one.
    """
    for name in table:
        if name not in known:
            raise UsageError(f"{path}: there is no {name!r:.50}; choose from {', '.join(known)}.")


def quoted(text: str) -> str:
    """Return a text as a TOML string."""
    escaped = "".join(
        f"\\u{ord(one):04x}"
        if ord(one) < 0x20 or ord(one) == 0x7F
        else {"\\": "\\\\", '"': '\\"'}.get(one, one)
        for one in text
    )
    return f'"{escaped}"'
