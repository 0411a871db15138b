"""Numbers of bytes as short texts."""

from __future__ import annotations

_UNITS = (("G", 1 << 30), ("M", 1 << 20), ("k", 1 << 10))


def byte_text(count: int | None) -> str:
    """Returns a number of bytes as tfdbg prints it, such as ``160``, ``1.50k`` or ``2.00M``.

    Args:
      count: The number; None if it is not known.
    """
    if count is None:
        return "?"
    for letter, size in _UNITS:
        if count >= size:
            return f"{count / size:.2f}{letter}"
    return str(count)
