"""The screen with which a shell opens."""

from __future__ import annotations

from tb_debugger_plugin.shell.screen import Screen
from tb_debugger_plugin.shell.shell import Shell


def first_screen(shell: Shell) -> Screen:
    """Returns the call of a stopped program; else the list of several runs, or what the only run holds.

    Args:
      shell: The shell.

    Raises:
      NotFoundError: The logdir has no runs.
    """
    if shell.call is not None:
        return _screen(shell, "run_info")
    several = shell.open_name is None and not shell.has_name and len(shell.found_runs()) > 1
    return _screen(shell, "runs" if several else "run_info")


def _screen(shell: Shell, line: str) -> Screen:
    answer = shell.answer(line)
    assert isinstance(answer, Screen)
    return answer
