"""Searches the lines of a screen for a regular expression, in pieces, so that a long search can be ended."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from tb_debugger_plugin.errors import UsageError

#: Lines between two looks at whether to go on.
_PIECE: Final = 256


class Texts(Protocol):
    """Lines by number."""

    def __len__(self) -> int:
        """Return the number of lines."""

    def texts(self, begin: int, end: int) -> Sequence[str]:
        """Return the texts of some lines."""


class Search(NamedTuple):
    """What is searched for.

    Attributes:
      pattern: The regular expression.
      line: The line of the match that is shown; -1 if there is none.
    """

    pattern: re.Pattern[str]
    line: int = -1


class Progress(NamedTuple):
    """How far a search is.

    Attributes:
      done: The number of lines that were looked at.
      line: The line of the match; None if none is found yet.
    """

    done: int
    line: int | None = None


def compiled(text: str) -> re.Pattern[str]:
    """Return the regular expression of a text.

    Raises:
      UsageError: It is none.
    """
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"/{text} is no regular expression: {error}.") from None


def found(lines: Texts, pattern: re.Pattern[str], begin: int, step: int) -> Iterator[Progress]:
    """Search from a line on, around the end, until a line matches.

    Args:
      lines: The lines.
      pattern: What is searched for.
      begin: The line to begin with.
      step: 1 to search forwards, -1 to search backwards.

    Yields:
      How far it is, after each piece. The last one holds the line, if there is one.
    """
    count = len(lines)
    begin = begin % count if count else 0
    ranges = ((begin, count), (0, begin)) if step > 0 else ((0, begin + 1), (begin + 1, count))
    done = 0
    for low, high in ranges:
        starts = range(low, high, _PIECE)
        for start in starts if step > 0 else reversed(starts):
            end = min(high, start + _PIECE)
            numbered = list(enumerate(lines.texts(start, end), start))
            hits = (number for number, text in numbered[::step] if pattern.search(text))
            line = next(hits, None)
            done += end - start
            yield Progress(done, line)
            if line is not None:
                return
