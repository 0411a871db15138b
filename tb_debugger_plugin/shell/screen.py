"""What a command of the shell answers: lines with styles and links, without a terminal in them.

A line is a sequence of parts. A part may carry a command, which a click on it runs. Lines may be made when
they are shown: a list of ten million tensors is a sequence that reads the current page.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

_GAP = 2


def table(rows: Sequence[Sequence[Part]]) -> list[Line]:
    """Return the lines of a table.

    Args:
      rows: The cells of each row; the first row is the head. All rows have as many cells.
    """
    widths = [max(len(row[column].text) for row in rows) for column in range(len(rows[0]))] if rows else []
    return [_line(row, widths) for row in rows]


def _line(row: Sequence[Part], widths: Sequence[int]) -> Line:
    parts: list[Part] = []
    for cell, width in zip(row[:-1], widths, strict=False):
        # The padding is no part of the link.
        parts += [cell, Part(" " * (width - len(cell.text) + _GAP))]
    return (*parts, row[-1])


class Style(enum.Enum):
    """What a part of a line is; a user interface chooses the colours."""

    PLAIN = "plain"
    HEADING = "heading"
    MUTED = "muted"
    BAD = "bad"
    ERROR = "error"
    HIGHLIGHT = "highlight"


class Mood(enum.Enum):
    """What a screen is for."""

    ANSWER = "answer"
    BEFORE_CALL = "before call"
    AFTER_CALL = "after call"
    ERROR = "error"


class Part(NamedTuple):
    """A part of a line.

    Attributes:
      text: The text; it may come from a log, so it is escaped where it is printed.
      style: What it is.
      command: The command that a click on it runs; None if it is no link.
    """

    text: str
    style: Style = Style.PLAIN
    command: str | None = None


#: A line of a screen.
Line: TypeAlias = "tuple[Part, ...]"


class Places(NamedTuple):
    """Where the elements of an array are on a screen.

    Attributes:
      line_of: Returns the line of an element, counted from the first line of the screen.
      indices_at: Returns the indices of the first element of a line; None for a line without elements.
      is_left_out: Whether an element is in a gap, of which only the line is shown.
    """

    line_of: Callable[[tuple[int, ...]], int]
    indices_at: Callable[[int], tuple[int, ...] | None]
    is_left_out: Callable[[tuple[int, ...]], bool] = lambda indices: False


@dataclass(frozen=True)
class Screen:
    """An answer.

    Attributes:
      lines: The lines.
      mood: What it is for.
      title: One line above the rest; empty if there is none.
      places: Where the elements of the array are that it shows; None if it shows none.
      begin: The position of the line to scroll to.
    """

    lines: Sequence[Line] = ()
    mood: Mood = Mood.ANSWER
    title: str = ""
    places: Places | None = field(default=None, compare=False)
    begin: int = 0

    @property
    def is_error(self) -> bool:
        """Whether the command failed."""
        return self.mood is Mood.ERROR


def plain(text: str = "", style: Style = Style.PLAIN) -> Line:
    """Return a line of one part."""
    return (Part(text, style),)


def link(text: str, command: str, style: Style = Style.PLAIN) -> Part:
    """Return a part that runs a command when it is clicked."""
    return Part(text, style, command)


def text_of(line: Line) -> str:
    """Return a line without styles and links."""
    return "".join(part.text for part in line)


def of_text(text: str, mood: Mood = Mood.ANSWER) -> Screen:
    """Return a screen with the lines of a text."""
    style = Style.ERROR if mood is Mood.ERROR else Style.PLAIN
    return Screen([plain(line, style) for line in text.split("\n")], mood)


def joined(*groups: Iterable[Line]) -> list[Line]:
    """Return the lines of several groups, with an empty line between two groups that have lines."""
    result: list[Line] = []
    for group in groups:
        lines = list(group)
        if result and lines:
            result.append(())
        result += lines
    return result
