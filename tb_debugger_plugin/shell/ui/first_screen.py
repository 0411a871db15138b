"""What a shell shows first: the runs, the call at which a program is stopped, or what it computed."""

from __future__ import annotations

import shlex

from tb_debugger_plugin.reading import choose
from tb_debugger_plugin.shell.program import Call
from tb_debugger_plugin.shell.screen import Mood
from tb_debugger_plugin.shell.shell import Shell


def first_line(shell: Shell) -> str:
    """Return the command line whose answer a shell shows first.

    Args:
      shell: The shell.

    Raises:
      NotFoundError: There are no runs.
    """
    if shell.call is not None:
        return _line_of_call(shell.call)
    if shell.attached is not None:
        return "live"
    return "runs" if len(choose.chosen(shell.folder)) > 1 and shell.run_name is None else "run_info"


def _line_of_call(call: Call) -> str:
    if not call.is_over or call.error is not None:
        return "run_info"
    if call.is_profiled:
        return "lp"
    if call.passed_filter is None:
        return "lt"
    excluded = "" if call.excluded_names is None else f" -fenn {shlex.quote(call.excluded_names)}"
    return f"lt -f {shlex.quote(call.passed_filter)}{excluded}"


def mood_of(call: Call | None) -> Mood:
    """Return the mood of the screens of a call."""
    if call is None:
        return Mood.ANSWER
    if call.error is not None:
        return Mood.ERROR
    return Mood.AFTER_CALL if call.is_over else Mood.BEFORE_CALL
