"""Runs the full screen inside a process that has other things to do, and puts everything back afterwards.

The screen has an event loop of its own, and leaves that of the program alone. Signal handlers are as before
when it closes, and what other threads of the program printed meanwhile is printed then. If the screen itself
fails, plain lines take over.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Final, TextIO

from tb_debugger_plugin.errors import user_message
from tb_debugger_plugin.shell.program import Detach, Leave, Resume
from tb_debugger_plugin.shell.screen import Screen
from tb_debugger_plugin.shell.shell import Shell
from tb_debugger_plugin.shell.ui.full_screen.app import ShellApp
from tb_debugger_plugin.shell.ui.hangup import TerminalStreams, raise_closed
from tb_debugger_plugin.shell.ui.history import History, history_file

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.ui.converse import UserInterface

_SIGNALS: Final = ("SIGTSTP", "SIGCONT", "SIGTTOU", "SIGTTIN", "SIGWINCH", "SIGHUP")


class FullScreen:
    """The full screen as a user interface.

    Args:
      instead: Takes over if the screen fails.
    """

    has_screen = True

    def __init__(self, instead: UserInterface) -> None:
        self._instead = instead

    def converse(self, shell: Shell, first: Screen | str = "") -> Resume | Leave | Detach:
        """Show a screen, or the answer of a line, and answer command lines, until one ends the shell."""
        app = ShellApp(shell, first, History(history_file()))
        streams, failure = TerminalStreams(), ""
        try:
            with _signals_kept(), _drawing_on(sys.stdout):
                _run(app)
        except Exception as error:  # of the screen itself; a program that is stopped must not end by it
            failure = f": {user_message(error)}"
        finally:
            streams.replace_closed()
            for is_stderr, text in app.printed:
                print(text, end="", file=sys.stderr if is_stderr else sys.stdout)
        if app.return_value is not None:
            return app.return_value
        if streams.is_closed:
            return Detach()
        print(f"tbdbg: The full screen failed, so these are plain lines{failure}.", file=sys.stderr)
        shell.has_screen = False
        return self._instead.converse(shell, first)


def _run(app: ShellApp) -> None:
    loop = asyncio.new_event_loop()

    def leave(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(app.exit, Detach())

    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is raise_closed:
        # An exception would end the loop without an end to its threads.
        signal.signal(signal.SIGHUP, leave)
    try:
        loop.run_until_complete(app.run_async())
    finally:
        loop.close()


@contextlib.contextmanager
def _signals_kept() -> Iterator[None]:
    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            # None is a handler that is not Python's; it cannot be set again.
            if handler is not None:
                signal.signal(number, handler)


class _Canvas(io.TextIOWrapper):
    """The terminal as Textual's thread writes to it: a closed one takes everything."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            super().flush()


@contextlib.contextmanager
def _drawing_on(terminal: TextIO) -> Iterator[None]:
    """Let Textual draw on a terminal. Without this it draws on stderr, which may be a file."""
    kept = sys.__stderr__
    with open(os.dup(terminal.fileno()), "wb", buffering=0) as raw:
        vars(sys)["__stderr__"] = _Canvas(io.BufferedWriter(raw), "utf-8", "replace", write_through=True)
        try:
            yield
        finally:
            vars(sys)["__stderr__"] = kept
