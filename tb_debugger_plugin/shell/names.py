"""Names of a recording inside regular expressions."""

from __future__ import annotations


def literal(name: str) -> str:
    """Return a regular expression that matches a name only, for Python and for RE2."""
    return "".join(
        letter if letter.isalnum() or letter in "_/" or not letter.isascii() else f"\\{letter}"
        for letter in name
    )
