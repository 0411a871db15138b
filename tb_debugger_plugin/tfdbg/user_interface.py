"""The user interface around a running program, by its name in this package or in TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.shell.program import Detach, Leave, Resume
from tb_debugger_plugin.shell.shell import Shell
from tb_debugger_plugin.shell.ui.converse import UIS, UserInterface, converse
from tb_debugger_plugin.shell.ui.first_screen import first_line

#: A user interface, or its name: one of `UIS`, or ``"auto"``, for which TensorFlow's names stand, too.
UiType: TypeAlias = "str | UserInterface"
#: Opens the shell, and returns how the program goes on.
Open: TypeAlias = "Callable[[Shell], Resume | Leave | Detach]"

_AUTO: Final = ("auto", "readline", "curses")


def opener(ui_type: UiType) -> Open:
    """Return the function that opens the shell in a user interface.

    Args:
      ui_type: Its name, or the user interface itself.

    Raises:
      UsageError: There is none of this name. It is a ``ValueError``.
    """
    if not isinstance(ui_type, str):
        return lambda shell: ui_type.converse(shell, first_line(shell))
    if ui_type not in (*_AUTO, *UIS):
        raise UsageError(f"There is no ui_type {ui_type!r}: choose one of {', '.join((*_AUTO, *UIS))}.")
    name = None if ui_type in _AUTO else ui_type
    return lambda shell: converse(shell, ui=name)
