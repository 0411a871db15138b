"""`tb_debugger_plugin/shell/ui/converse.py`: opens a shell at the terminal of this process.

:func:`converse` is what `tbdbg shell` and everything that stops a program calls. What it changes in the
process (signals, the terminal, `sys.stdout`, readline) is as before when it returns or raises.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Final, Protocol, TextIO

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.shell.program import Detach, Leave, Resume
from tb_debugger_plugin.shell.screen import Screen
from tb_debugger_plugin.shell.shell import Shell
from tb_debugger_plugin.shell.ui.first_screen import first_screen
from tb_debugger_plugin.shell.ui.hangup import TerminalClosed, survived_hangup
from tb_debugger_plugin.shell.ui.plain_lines import PlainLines
from tb_debugger_plugin.shell.ui.typed_lines import typed_lines


class UserInterface(Protocol):
    """Shows screens and takes command lines."""

    def converse(self, shell: Shell, first: Screen | None = None) -> Resume | Leave | Detach:
        """Show a screen and answer command lines, until one ends the shell."""


def converse(shell: Shell, first: Screen | None = None, *, ui: str | None = None) -> Resume | Leave | Detach:
    """Open a shell at the terminal of this process, until it is left.

    Use::

        answer = converse(shell)

    Args:
      shell: The shell.
      first: What is shown at the start; None (the default) = the runs, or the call at hand.
      ui: One of :data:`UIS`; None (the default) = what the terminal can show.

    Returns:
      How the program goes on. A closed terminal or the end of the input is a `Detach`.

    Raises:
      UsageError: There is no such user interface.
    """
    chosen = choose_ui(ui, sys.stdin, sys.stdout)
    first = first_screen(shell) if first is None else first
    try:
        with survived_hangup(is_wanted=shell.call is not None):
            return chosen.converse(shell, first)
    except TerminalClosed:
        return Detach()


def choose_ui(name: str | None, stdin: TextIO, stdout: TextIO) -> UserInterface:
    """Returns the user interface of a name, or the best for a terminal.

    Args:
      name: One of :data:`UIS`; None to choose.
      stdin: Where command lines come from.
      stdout: Where screens go.

    Raises:
      UsageError: There is no such user interface.
    """
    if name is not None and name not in UIS:
        raise UsageError(f"There is no user interface {name!r}: choose one of {', '.join(UIS)}.")
    return UIS[name or "plain"](stdin, stdout)


def _plain(stdin: TextIO, stdout: TextIO) -> UserInterface:
    return PlainLines(lambda shell: typed_lines(shell, stdin, stdout), stdout)


#: The user interfaces by name.
UIS: Final[Mapping[str, Callable[[TextIO, TextIO], UserInterface]]] = {"plain": _plain}
