"""Numbers of bytes as short texts."""

from __future__ import annotations

from tb_debugger_plugin.shell.times import BYTE_UNITS


def byte_text(count: int | None) -> str:
    """Return a number of bytes as tfdbg prints it, such as ``160``, ``1.50k`` or ``2.00M``.

    Args:
      count: The number; None if it is not known.
    """
    if count is None:
        return "?"
    for letter, size in reversed(BYTE_UNITS.items()):
        if letter and count >= size:
            return f"{count / size:.2f}{letter}"
    return str(count)
