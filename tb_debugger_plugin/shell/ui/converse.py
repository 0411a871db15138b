"""`tb_debugger_plugin/shell/ui/converse.py`: opens a shell at the terminal of this process.

:func:`converse` is what `tbdbg shell` and everything that stops a program calls. It chooses the user
interface: a full screen if there is a terminal that can show one, else plain lines. What it changes in the
process (signals, the terminal, `sys.stdout`, readline) is as before when it returns or raises.
"""

from __future__ import annotations

import asyncio
import functools
import importlib.util
import io
import os
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Final, Protocol, TextIO

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.shell.program import Detach, Leave, Resume
from tb_debugger_plugin.shell.screen import Screen
from tb_debugger_plugin.shell.shell import Shell
from tb_debugger_plugin.shell.ui.first_screen import first_line
from tb_debugger_plugin.shell.ui.hangup import TerminalClosed, survived_hangup
from tb_debugger_plugin.shell.ui.plain_lines import PlainLines
from tb_debugger_plugin.shell.ui.styles import is_terminal
from tb_debugger_plugin.shell.ui.typed_lines import typed_lines

_TEXTUAL: Final = "the package textual (pip install 'tb-debugger-plugin[shell]')"


class UserInterface(Protocol):
    """Shows screens and takes command lines.

    Attributes:
      has_screen: Whether it has a screen of its own, which commands can act on.
    """

    has_screen: bool

    def converse(self, shell: Shell, first: Screen | str = "") -> Resume | Leave | Detach:
        """Show a screen, or the answer of a line, and answer command lines, until one ends the shell."""


def converse(shell: Shell, first: Screen | None = None, *, ui: str | None = None) -> Resume | Leave | Detach:
    """Open a shell at the terminal of this process, until it is left.

    Use::

        answer = converse(shell)

    Args:
      shell: The shell.
      first: What is shown at the start; None (the default) = the runs, or the current call.
      ui: One of :data:`UIS`; None (the default) = what the terminal can show.

    Returns:
      How the program goes on. A closed terminal or the end of the input is a `Detach`.

    Raises:
      NotFoundError: There is no run to look at.
      UsageError: There is no such user interface.
    """
    # A process can be without either, and is then as one at the end of its input.
    chosen = choose_ui(ui, sys.stdin or io.StringIO(), sys.stdout or io.StringIO())
    shell.has_screen = chosen.has_screen
    try:
        with survived_hangup(is_wanted=shell.call is not None):
            return chosen.converse(shell, first_line(shell) if first is None else first)
    except TerminalClosed:
        return Detach()
    finally:
        shell.has_screen = False


def choose_ui(name: str | None, stdin: TextIO, stdout: TextIO) -> UserInterface:
    """Return the user interface of a name, or the best for a terminal.

    Args:
      name: One of :data:`UIS`; None to choose.
      stdin: Where command lines come from.
      stdout: Where screens go.

    Raises:
      UsageError: There is no such user interface.
    """
    if name is not None and name not in UIS:
        raise UsageError(f"There is no user interface {name!r}: choose one of {', '.join(UIS)}.")
    missing = _missing_for_full_screen(stdin, stdout)
    if missing and (name == "full" or (name is None and missing == _TEXTUAL)):
        _say_once(f"tbdbg: The full screen needs {missing}, so these are plain lines.")
    return UIS["plain" if missing or name == "plain" else "full"](stdin, stdout)


def _plain(stdin: TextIO, stdout: TextIO) -> UserInterface:
    return PlainLines(lambda shell: typed_lines(shell, stdin, stdout), stdout)


def _full(stdin: TextIO, stdout: TextIO) -> UserInterface:
    # A program that shows no full screen need not load what draws it.
    from tb_debugger_plugin.shell.ui.full_screen.full_screen import FullScreen

    return FullScreen(instead=_plain(stdin, stdout))


#: The user interfaces by name.
UIS: Final[Mapping[str, Callable[[TextIO, TextIO], UserInterface]]] = {"full": _full, "plain": _plain}


@functools.cache
def _say_once(text: str) -> None:
    print(text, file=sys.stderr)


def _missing_for_full_screen(stdin: TextIO, stdout: TextIO) -> str:
    """Say what is not there; empty if all is."""
    if not (is_terminal(stdin) and is_terminal(stdout)):
        return "a terminal"
    if os.environ.get("TERM", "dumb") in ("dumb", "unknown", ""):
        return "a terminal that can move its cursor (TERM says that this one cannot)"
    if threading.current_thread() is not threading.main_thread():
        return "the main thread"
    if asyncio._get_running_loop() is not None:
        return "a thread in which no event loop of asyncio runs"
    if importlib.util.find_spec("textual") is None:
        return _TEXTUAL
    return ""
