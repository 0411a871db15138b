"""Lines of a program that runs eagerly: where *step over* stops as long as the program has made no call.

A line is next if it is not the line at which the program stopped last. A line that runs many ops, in a
library or in a loop of one line, is left as a whole.
"""

from __future__ import annotations


class EagerLines:
    """The line at which the program stopped last. Not thread-safe: the controller holds its lock."""

    def __init__(self) -> None:
        self._last = ("", 0)

    def stop_at(self, path: str, line: int) -> None:
        """Note where the program stops."""
        self._last = path, line

    def is_next(self, path: str, line: int) -> bool:
        """Whether a line is the next one: one of the program, and not the last one."""
        return bool(path) and (path, line) != self._last
