"""Makes text of a log safe to print on a terminal.

Takes any text and returns it with its control characters as escapes: a name in a log must not move the
cursor, set the window's title or look like a line of its own.
"""

from __future__ import annotations

from typing import Final

_INDENT: Final = "  "


def printable(text: str) -> str:
    """Replace characters that do not print by escapes, such as ``\\x1b``."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def printable_lines(text: str) -> str:
    """Do the same for each line; indent all lines but the first, so that none looks like a message."""
    return "\n".join(
        (_INDENT * bool(number) + printable(line)).rstrip() for number, line in enumerate(text.split("\n"))
    )
