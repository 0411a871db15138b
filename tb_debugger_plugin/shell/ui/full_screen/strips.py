"""Makes what Textual paints of a line: parts with styles, links, and the matches of a search."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.strip import Strip

from tb_debugger_plugin.shell.screen import Line, Mood, Style
from tb_debugger_plugin.shell.ui.styles import STYLES

#: The colours of the title, which are those of tfdbg.
MOODS: Final = {
    Mood.ANSWER: RichStyle(reverse=True),
    Mood.BEFORE_CALL: RichStyle(color="bright_white", bgcolor="blue", bold=True),
    Mood.AFTER_CALL: RichStyle(color="bright_white", bgcolor="black", bold=True),
    Mood.ERROR: RichStyle(color="bright_white", bgcolor="red", bold=True),
}
#: The name under which a segment carries the number of its part.
PART: Final = "tbdbg_part"
_LINK: Final = RichStyle(underline=True)
_NO_LINE: Final = RichStyle(underline=False)
_SELECTED: Final = RichStyle(reverse=True)


class Marks(NamedTuple):
    """What is marked in a line.

    Attributes:
      pattern: The regular expression whose matches are marked; None for none.
      selected: The number of the part that the keys have selected; -1 for none.
      is_marked: Whether the whole line is.
    """

    pattern: re.Pattern[str] | None = None
    selected: int = -1
    is_marked: bool = False


def strip_of(line: Line, marks: Marks | None = None, base: RichStyle | None = None) -> Strip:
    """Return a line as it is painted.

    Args:
      line: The parts, whose texts are escaped.
      marks: What is marked.
      base: The style below those of the parts.
    """
    marks = marks or Marks()
    matches = _matches("".join(part.text for part in line), marks.pattern)
    segments, at = [], 0
    for number, part in enumerate(line):
        style = (base or RichStyle()) + STYLES[part.style]
        if part.command is not None:
            style += _LINK + RichStyle(meta={PART: number})
        if marks.is_marked:
            style += STYLES[Style.HIGHLIGHT]
        if marks.selected == number:
            style += _SELECTED
        # The spaces that fill a column are part of the link, but are not underlined.
        text = part.text.rstrip(" ")
        segments += _segments(text, at, style, matches)
        segments += _segments(part.text[len(text) :], at + len(text), style + _NO_LINE, matches)
        at += len(part.text)
    return Strip(segments)


def _matches(text: str, pattern: re.Pattern[str] | None) -> list[tuple[int, int]]:
    """Where a text matches: begin and end of each match that is not empty."""
    if pattern is None:
        return []
    return [match.span() for match in pattern.finditer(text) if match.end() > match.start()]


def _segments(text: str, at: int, style: RichStyle, matches: list[tuple[int, int]]) -> list[Segment]:
    """Return a part in pieces inside or outside of matches; ``at`` is where it begins in its line."""
    segments, done = [], 0
    for begin, end in matches:
        low, high = max(begin - at, done), min(end - at, len(text))
        if low >= high:
            continue
        segments.append(Segment(text[done:low], style))
        segments.append(Segment(text[low:high], style + STYLES[Style.HIGHLIGHT]))
        done = high
    segments.append(Segment(text[done:], style))
    return [segment for segment in segments if segment.text]
