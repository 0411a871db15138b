"""The line of the user's code that a stack ends in.

Takes stacks by number; returns the innermost line that is not a library's, or else the
innermost one. Lines are those that are on record; no path is ever opened.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import Final

from tb_debugger_plugin.analysis.snapshot import Json, JsonObject, Snapshot
from tb_debugger_plugin.analysis.source.sources import LIBRARY, whose_code

#: The tables of :data:`_QUERY`.
_TABLES: Final = ("stacks", "frames", "sources", "source_lines", "frame_lines")
#: Stacks of a long list whose lines are asked for one by one; of a caller who wants more, all are read.
_FEW: Final = 8
#: A list of stacks with so many frames is long. All lines of a shorter one cost little more than one line.
_LONG: Final = 1 << 15
_QUERY = """
WITH library AS (SELECT unnest($libraries::INTEGER[]) AS source), innermost AS (
  SELECT s.stack, s.host, max(s.depth + CASE WHEN b.source IS NULL THEN 1000000 ELSE 0 END) AS rank
  FROM stacks s JOIN frames r ON (r.host, r.frame_id) = (s.host, s.frame_id)
  LEFT JOIN sources f ON (f.host, f.file_index) = (r.host, r.file_index)
  LEFT JOIN library b ON b.source = f.source
  {where}
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
class UserLine(JsonObject):
    """A line of the user's code.

    Attributes:
      path: The file, as it was recorded.
      line: The line, from 1.
      function: The function.
      text: The line without the space around it; None when it was not recorded.
    """

    path: str
    line: int
    function: str
    text: str | None

    @property
    def name(self) -> str:
        """File and line, such as ``train.py:68``."""
        path = PureWindowsPath(self.path) if "\\" in self.path else PurePosixPath(self.path)
        return f"{path.name}:{self.line}"


def user_lines(snapshot: Snapshot, stacks: Iterable[int]) -> dict[int, UserLine]:
    """Return the user's line of each stack, in one query.

    Args:
      snapshot: The run.
      stacks: The numbers of the stacks. One that is not on record has no line.
    """
    wanted = {stack for stack in stacks if stack >= 0}
    ((frames,),) = snapshot.rows_of("stacks", "SELECT count(*) FROM stacks")
    if frames >= _LONG:
        return _read(snapshot, wanted)
    lines = all_user_lines(snapshot)
    return {stack: lines[stack] for stack in wanted if stack in lines}


def all_user_lines(snapshot: Snapshot) -> Mapping[int, UserLine]:
    """Return the user's line of each stack of the run. They are asked for once."""
    return snapshot.remember_of(_TABLES, "all user lines", lambda: _read(snapshot, None))


def user_line(snapshot: Snapshot, stack: int) -> UserLine | None:
    """Return the user's line of a stack; None when the stack is not on record. It is asked for once."""
    known: dict[int, UserLine | None] = snapshot.remember_of(_TABLES, "user lines", dict)
    if stack not in known:
        few = len(known) < _FEW
        known.update(user_lines(snapshot, [stack]) if few else all_user_lines(snapshot))
    return known.setdefault(stack, None)


def _read(snapshot: Snapshot, stacks: Collection[int] | None) -> dict[int, UserLine]:
    rows = snapshot.rows("SELECT source, path, origin FROM sources")
    given: Json = {
        "libraries": [source for source, path, recorded in rows if whose_code(path, recorded) == LIBRARY]
    }
    if stacks is not None:
        given["stacks"] = sorted(stacks)
    where = "" if stacks is None else "WHERE s.stack IN (SELECT unnest($stacks::INTEGER[]))"
    return {
        stack: UserLine(path or "", line, function or "", None if text is None else text.strip())
        for stack, path, line, function, text in snapshot.rows(_QUERY.format(where=where), given)
    }
