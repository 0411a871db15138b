"""Text of a log, as a terminal may show it.

In comes any text, out comes the same with its control characters spelled out: a name in a log must not move
the cursor, set the window's title or pretend to be a line of its own.
"""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with everything that does not print as an escape, such as ``\\x1b``."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
