"""Lets Ctrl-C run a paused program on without the debugger, instead of ending it.

A thread that is held inside a graph runs no Python code, so Python's own handler would run only after the
debugger has let it go on. The system's handler writes to a socket at once; a thread of ours reads it.

Invariant: Ctrl-C while the program is not paused does what it did before.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tb_debugger_plugin.live.program.controller import Controller


_log = logging.getLogger("tb_debugger_plugin")
#: Seconds that Python's own handler gets to run before the thread takes it as held inside a graph.
_HANDLER_S: Final = 0.1
WHY: Final = "Ctrl-C at the program: it runs on without the debugger."


class Interrupts:
    """Takes Ctrl-C from `install()` to `remove()`, both in the main thread; elsewhere they do nothing.

    Args:
      controller: Is detached by Ctrl-C while the program is paused.
      is_paused: Whether it is. Must take no lock.
    """

    def __init__(self, controller: Controller, is_paused: Callable[[], bool]) -> None:
        self._controller = controller
        self._is_paused = is_paused
        self._before: Callable[[int, FrameType | None], object] | None = None
        self._fd_before = -1
        self._ours: socket.socket | None = None
        self._theirs: socket.socket | None = None
        self._is_handled = threading.Event()
        self._is_to_be_dropped = False

    def install(self) -> None:
        """Begin to take Ctrl-C, unless the program ignores it or leaves it to the system."""
        if threading.current_thread() is not threading.main_thread():
            return
        before = signal.getsignal(signal.SIGINT)
        if not callable(before):
            return
        self._before = before
        self._ours, self._theirs = socket.socketpair()
        for end in (self._ours, self._theirs):
            end.setblocking(end is self._ours)
        signal.signal(signal.SIGINT, self._handle)
        self._fd_before = signal.set_wakeup_fd(self._theirs.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._watch, name="tb-debugger-interrupts", daemon=True).start()

    def remove(self) -> None:
        """Put back what was there, as far as nobody has replaced it since."""
        if self._theirs is None or self._ours is None:
            return
        if threading.current_thread() is threading.main_thread():
            if signal.getsignal(signal.SIGINT) == self._handle:
                signal.signal(signal.SIGINT, self._before)
            now = signal.set_wakeup_fd(self._fd_before)
            if now not in (-1, self._theirs.fileno()):
                signal.set_wakeup_fd(now)
            with contextlib.suppress(OSError):
                self._theirs.close()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Return Python's handler, which runs in the main thread when that runs Python code."""
        if self._is_to_be_dropped:
            self._is_to_be_dropped = False
        elif self._is_paused():
            self._is_handled.set()
        elif self._before is not None:
            self._before(number, frame)

    def _watch(self) -> None:
        ours = self._ours
        assert ours is not None, "it is there before the thread"
        with ours, contextlib.suppress(OSError):
            while numbers := ours.recv(64):
                if signal.SIGINT in numbers and self._is_paused():
                    self._detach()
                self._is_handled.clear()
                self._pass_on(numbers)

    def _detach(self) -> None:
        if not self._is_handled.wait(_HANDLER_S):
            self._is_to_be_dropped = True  # the handler runs as soon as the graph is let go on
        try:
            self._controller.detach(WHY)
        except Exception as error:  # the program must not see any error
            _log.debug("The debugger failed to detach:", exc_info=error)

    def _pass_on(self, numbers: bytes) -> None:
        """Hand signals to whoever waited for them before, such as an event loop."""
        if self._fd_before != -1:
            with contextlib.suppress(OSError):
                os.write(self._fd_before, numbers)
