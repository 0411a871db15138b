"""Keeps a stopped program alive when its terminal is closed.

A closed terminal sends SIGHUP, which ends a process. While the shell is open around a program, the signal
becomes an exception instead, the shell is left, and the program goes on without a terminal.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Final

_STREAMS: Final = (0, 1, 2)


class TerminalClosed(BaseException):
    """The terminal is closed. As with `KeyboardInterrupt`, code that survives every failure lets it pass."""


@contextlib.contextmanager
def survived_hangup(*, is_wanted: bool) -> Iterator[None]:
    """Raise :class:`TerminalClosed` inside the block when the terminal is closed.

    Args:
      is_wanted: Whether to. If not, in other threads than the main one, or if the program has a handler of
        its own or ignores the signal, nothing changes.
    """
    if not (is_wanted and _is_deadly()):
        yield
        return
    streams = TerminalStreams()
    before = signal.signal(signal.SIGHUP, raise_closed)
    try:
        yield
    finally:
        # The end of the input may come before the signal, which then comes here, and is no news.
        with contextlib.suppress(TerminalClosed):
            signal.signal(signal.SIGHUP, before)
        signal.signal(signal.SIGHUP, before)
        streams.replace_closed()


class TerminalStreams:
    """The standard streams that are a terminal when this is made."""

    def __init__(self) -> None:
        self._numbers = [number for number in _STREAMS if _is_terminal(number)]

    @property
    def is_closed(self) -> bool:
        """Whether a terminal of them is closed."""
        return not all(map(_is_terminal, self._numbers))

    def replace_closed(self) -> None:
        """Lead streams of a closed terminal nowhere, so that what the program prints does not raise."""
        for number in self._numbers:
            if not _is_terminal(number):
                _lead_nowhere(number)


def raise_closed(number: int, frame: FrameType | None) -> None:
    """Raise :class:`TerminalClosed`; a handler of signals."""
    raise TerminalClosed("The terminal is closed.")


def _is_deadly() -> bool:
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL


def _is_terminal(number: int) -> bool:
    with contextlib.suppress(OSError):
        return os.isatty(number) and not _is_hung_up(number)
    return False


def _is_hung_up(number: int) -> bool:
    """Whether the other side of a terminal is closed: readers see the end before the signal comes."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(number, 0)
    return any(event & select.POLLHUP for _, event in poll.poll(0))


def _lead_nowhere(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, number)
    os.close(nowhere)
