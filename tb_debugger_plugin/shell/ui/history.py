"""The command lines that were typed, kept in a file from one shell to the next.

Takes lines and returns them by prefix, the newest first. A file that cannot be read or written is no failure:
the lines are then kept as long as the process.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

#: Lines that are kept.
MAX_LINES: Final = 1000
_FOLDER: Final = "tb_debugger_plugin"
_FILE: Final = "shell_history"


def history_file() -> Path | None:
    """Return the file of this user; None if the user has no folder for it."""
    with contextlib.suppress(RuntimeError, OSError):
        state = os.environ.get("XDG_STATE_HOME", "")
        folder = Path(state) if os.path.isabs(state) else Path.home() / ".local" / "state"
        return folder / _FOLDER / _FILE
    return None


class History:
    """The lines that were typed.

    Args:
      file: The file that keeps them; None to keep them in memory only.
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._lines = _read(file)

    def lines(self) -> Sequence[str]:
        """Return the lines, the oldest first."""
        return self._lines

    def add(self, line: str) -> None:
        """Add a line, unless it is empty or the same as the one before."""
        line = line.strip()
        if not line or "\n" in line or (self._lines and self._lines[-1] == line):
            return
        self._lines = [*self._lines[-(MAX_LINES - 1) :], line]
        with contextlib.suppress(OSError):
            self._write(line)

    def with_prefix(self, prefix: str) -> list[str]:
        """Return the lines that begin with a text, the newest first, each once."""
        return list(dict.fromkeys(line for line in reversed(self._lines) if line.startswith(prefix)))

    def _write(self, line: str) -> None:
        if self._file is None:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Two shells that write at once add a line each.
        number = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with open(number, "a", encoding="utf-8") as out:
            out.write(line + "\n")


class Recall:
    """Steps through the lines that begin with what is typed, as Up and Down do.

    Args:
      history: The lines.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._found: list[str] = []
        self._at = 0

    def forget(self) -> None:
        """Begin a new look: the line was run, or cleared."""
        self._found, self._at = [], 0

    def older(self, typed: str) -> str:
        """Return the next older line; what is typed if there is none."""
        return self._step(typed, 1)

    def newer(self, typed: str) -> str:
        """Return the next newer line; in the end what was typed at first."""
        return self._step(typed, -1)

    def _step(self, typed: str, step: int) -> str:
        if not self._found or self._found[self._at] != typed:
            # It was edited, so it is what the lines begin with now.
            self._found = [typed, *(line for line in self._history.with_prefix(typed) if line != typed)]
            self._at = 0
        self._at = min(max(0, self._at + step), len(self._found) - 1)
        return self._found[self._at]


def _read(file: Path | None) -> list[str]:
    """Return the newest lines of a file; shortens one that has grown."""
    if file is None:
        return []
    try:
        lines = file.read_text("utf-8", "replace").splitlines()
        if len(lines) > 2 * MAX_LINES:
            file.write_text("\n".join(lines[-MAX_LINES:]) + "\n", "utf-8")
    except OSError:
        return []
    return [line for line in lines if line][-MAX_LINES:]
