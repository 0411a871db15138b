"""The window of the terminal, as large as it is now.

Textual believes the variables COLUMNS and LINES, which a shell may have exported, and which stay as they are
when the window changes.
"""

from __future__ import annotations

import os
import sys

from textual.driver import Driver


def at_window(driver: type[Driver]) -> type[Driver]:
    """Return a driver that asks the terminal for its size; the same one if it does not ask for sizes.

    Args:
      driver: The driver that Textual chose.
    """
    if not hasattr(driver, "_get_terminal_size"):
        return driver

    def _get_terminal_size(self: Driver) -> tuple[int, int]:
        columns, rows = _window()
        return (columns, rows) if columns and rows else driver._get_terminal_size(self)

    return type(driver.__name__, (driver,), {"_get_terminal_size": _get_terminal_size})


def _window() -> tuple[int, int]:
    """Return the size of the window; zeros if the terminal has none."""
    try:
        return os.get_terminal_size(sys.__stdout__.fileno())  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):
        return 0, 0
