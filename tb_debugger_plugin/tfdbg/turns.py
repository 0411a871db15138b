"""Lets one thread at a time be stopped by the shell.

Invariant: while the shell is open in a thread, no other thread that is debugged begins a call.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tb_debugger_plugin.errors import UsageError


class ThreadNames:
    """Which threads are debugged.

    Args:
      thread_name_filter: Only threads whose name matches this regular expression from its beginning; None
        for all.

    Raises:
      UsageError: The filter is no regular expression. It is a `ValueError`.
    """

    def __init__(self, thread_name_filter: str | None) -> None:
        try:
            self._pattern = re.compile(thread_name_filter or "")
        except (re.error, TypeError) as error:
            raise UsageError(
                f"thread_name_filter {thread_name_filter!r} is not a regular expression: {error}."
            ) from None

    def include_this(self) -> bool:
        """Whether the running thread is one of them."""
        return bool(self._pattern.match(threading.current_thread().name))


class Turns:
    """Which thread is debugged.

    Args:
      thread_name_filter: As for `ThreadNames`.

    Raises:
      UsageError: The filter is no regular expression.
    """

    def __init__(self, thread_name_filter: str | None = None) -> None:
        self._names = ThreadNames(thread_name_filter)
        self._turn = threading.Lock()
        self._is_closed = threading.Event()
        self._is_closed.set()

    def begin(self) -> bool:
        """Begin the turn of this thread.

        Waits while the shell is open in another thread.

        Returns:
          Whether the thread has its turn. If not, it is not chosen, or a call of another thread runs: the
          shell follows one call at a time.
        """
        if not self._names.include_this():
            return False
        while not self._turn.acquire(blocking=False):
            if self._is_closed.is_set():
                return False
            self._is_closed.wait()
        return True

    def end(self) -> None:
        """End the turn of this thread."""
        self._turn.release()

    @contextmanager
    def shell_open(self) -> Iterator[None]:
        """Let the other threads wait inside the block, which is part of a turn."""
        self._is_closed.clear()
        try:
            yield
        finally:
            self._is_closed.set()


def thread_name() -> str:
    """Return the name of the running thread; empty for the main thread."""
    thread = threading.current_thread()
    return "" if thread is threading.main_thread() else thread.name
