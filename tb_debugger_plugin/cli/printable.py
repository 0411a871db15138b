"""Text of a log, as a terminal may show it.

In comes any text, out comes the same with its control characters spelled out: a name in a log must not move
the cursor, set the window's title or pretend to be a line of its own.
"""

from __future__ import annotations

from typing import Final

_INDENT: Final = "  "


def printable(text: str) -> str:
    """The text with everything that does not print as an escape, such as ``\\x1b``."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def printable_lines(text: str) -> str:
    """The same with its line breaks; all lines but the first are indented, so that none seems a message."""
    return "\n".join(
        (_INDENT * bool(number) + printable(line)).rstrip() for number, line in enumerate(text.split("\n"))
    )
