"""The user's line of every stack of a run, in one query.

Takes a snapshot and returns lines by number of the stack: the innermost one that is not a library's, or else
the innermost one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.sources import LIBRARY, origin

_QUERY = """
WITH library AS (SELECT unnest(?::INTEGER[]) AS source), innermost AS (
  SELECT s.stack, s.host, max(s.depth + CASE WHEN b.source IS NULL THEN 1000000 ELSE 0 END) AS rank
  FROM stacks s JOIN frames r ON (r.host, r.frame_id) = (s.host, s.frame_id)
  LEFT JOIN sources f ON (f.host, f.file_index) = (r.host, r.file_index)
  LEFT JOIN library b ON b.source = f.source
  GROUP BY ALL)
SELECT i.stack, f.path, r.line, r.function, coalesce(r.code, l.text, n.text) AS text
FROM innermost i
JOIN stacks s ON s.stack = i.stack AND s.host = i.host AND s.depth = i.rank % 1000000
JOIN frames r ON (r.host, r.frame_id) = (s.host, s.frame_id)
LEFT JOIN sources f ON (f.host, f.file_index) = (r.host, r.file_index)
LEFT JOIN source_lines l ON l.source = f.source AND l.line = r.line
LEFT JOIN frame_lines n ON (n.host, n.file_index, n.line) = (r.host, r.file_index, r.line)
"""


@dataclass(frozen=True)
class UserLine:
    """A line of the user's code.

    Attributes:
      path, line, function: Where it is.
      text: The line without the space around it; empty when it was not recorded.
    """

    path: str
    line: int
    function: str
    text: str

    @property
    def name(self) -> str:
        """File and line, such as ``train.py:68``."""
        path = PureWindowsPath(self.path) if "\\" in self.path else PurePosixPath(self.path)
        return f"{path.name}:{self.line}"

    def to_json(self) -> dict[str, Any]:
        """The line as the HTTP contract has it."""
        return {
            "path": self.path,
            "line": self.line,
            "function": self.function,
            "text": self.text or None,
        }


def user_lines(snapshot: Snapshot) -> dict[int, UserLine]:
    """Returns the user's line of each stack that is on record."""
    rows = snapshot.rows("SELECT source, path, origin FROM sources")
    libraries = [source for source, path, recorded in rows if origin(path, recorded) == LIBRARY]
    return {
        stack: UserLine(path or "", line, function or "", (text or "").strip())
        for stack, path, line, function, text in snapshot.rows(_QUERY, [libraries])
    }
