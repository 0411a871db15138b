"""Finds the line of the user's code that a stack ends in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath

from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.sources import stack_frames, stack_of
from tb_debugger_plugin.errors import NotFoundError


@dataclass(frozen=True)
class Line:
    """A line of the user's code: the innermost one of a stack.

    Attributes:
      path: The file.
      line: The line, from 1.
      function: The function.
      source: Its text; None when it is not on record.
    """

    path: str
    line: int
    function: str
    source: str | None

    @property
    def name(self) -> str:
        """The line in short: "train.py:68"."""
        path = PureWindowsPath(self.path) if "\\" in self.path else PurePosixPath(self.path)
        return f"{path.name}:{self.line}"


def line_of(snapshot: Snapshot, stack: int) -> Line | None:
    """The user's line of a stack by its number."""
    return line_of_frames(snapshot, stack_of(snapshot, stack)[1])


def line_of_frames(snapshot: Snapshot, frame_ids: list[str]) -> Line | None:
    """The user's innermost line of a stack, or the innermost one; None when no stack is on record."""
    try:
        answer = stack_frames(snapshot, frame_ids)
    except NotFoundError:  # a damaged file of frames
        return None
    frames = list(zip(answer["stack_frames"], answer["details"], strict=True))[::-1]
    own = [frame for frame in frames if frame[1]["origin"] != "library"]
    for (_, path, line, function), detail in (own or frames)[:1]:
        return Line(path or "", line, function, detail["text"])
    return None
